// Values that may not leave their thread are not told of on another one.
import ConcurrentKVO

final class Box { var count = 0 }

func tell() {
  let value = ConcurrentKVO(Box())
  let here = value.observe { $0.new.count += 1 }
  let elsewhere = value.observe(on: .pool) { $0.new.count += 1 }  // refused
  let later = ConcurrentKVO(Box(), setSynchronously: false)  // refused
  let compliant = KVOCompliantValue(Box())
  let compliantHere = compliant.observe { $0.new.count += 1 }
  let compliantElsewhere = compliant.observe(on: .pool) { $0.new.count += 1 }  // refused
  _ = (here, elsewhere, later, compliantHere, compliantElsewhere)
}
