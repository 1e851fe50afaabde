// A thermostat: a sensor's thread changes the temperature; observers heat and keep a record.
//
//     swift run --package-path examples/swift values
//
// What to look at: the record is a trail of everything that happened, read later and without a gap; the
// heating is switched before the change that asks for it returns.

import ConcurrentKVO

let temperature = ConcurrentKVO(18)
let heating = ConcurrentKVO(false)
let audit = heating.values()

// Called by whoever changes the temperature, before the change returns. It changes another value, whose
// observers are called in turn.
let thermostat = temperature.observe(.initial) { change in
  if change.new < 20 && !heating.value { heating.value = true }
  if change.new >= 22 && heating.value { heating.value = false }
}

// Called by a worker of the library, later and in order.
let record = temperature.observe(on: .pool) { change in
  print("temperature: \(change.old!) to \(change.new)")
}

// A sensor in a heated room.
let sensor = Task.detached {
  while heating.value { temperature.value += 1 }
}

// Off at first, then on, then off again: none of these is missed.
for await isOn in audit.dropFirst() where !isOn { break }
await sensor.value
temperature.drain()
print("the heating is off at \(temperature.value) degrees")
