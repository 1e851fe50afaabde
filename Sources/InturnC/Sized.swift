import CInturn

/// A struct of the caller's that begins with its size. It may grow with each version: programs that
/// were compiled with another header than the library's give a shorter or a longer one.
protocol Sized {
  /// What it took in 0.1, which is meant by a size of zero.
  static var firstSize: Int { get }
  /// All zeros.
  init()
}

/// No struct is ever larger, so that nobody reads far behind a size that is none.
private let largestSize = 4096

/// Reads a struct. What the caller's version does not have is zero. Nil when its size is none, or
/// when it has more than this version knows, and that is not zero: then it is not looked at further.
@inline(__always)
func sized<Struct: Sized>(_ pointer: UnsafePointer<Struct>) -> Struct? {
  withSized(pointer) { $0.pointee }
}

/// Calls `body` with a struct, where it is if nothing is missing: to copy a large one takes time.
@inline(__always)
func withSized<Struct: Sized, Result>(
  _ pointer: UnsafePointer<Struct>, _ body: (UnsafePointer<Struct>) -> Result
) -> Result? {
  let given = UnsafeRawPointer(pointer).load(as: UInt32.self)
  if given == MemoryLayout<Struct>.size { return body(pointer) }
  guard let known = knownSize(of: pointer, given) else { return nil }
  var whole = Struct()
  withUnsafeMutableBytes(of: &whole) {
    $0.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: known))
  }
  return body(&whole)
}

/// How many bytes of a struct there are that this version knows.
private func knownSize<Struct: Sized>(
  of pointer: UnsafePointer<Struct>, _ given: UInt32
) -> Int? {
  guard let size = realSize(of: Struct.self, given) else { return nil }
  let known = min(size, MemoryLayout<Struct>.size)
  let bytes = UnsafeRawPointer(pointer)
  for place in known..<size where bytes.load(fromByteOffset: place, as: UInt8.self) != 0 {
    return nil
  }
  return known
}

private func realSize<Struct: Sized>(of type: Struct.Type, _ size: UInt32) -> Int? {
  let size = size == 0 ? Struct.firstSize : Int(size)
  return (Struct.firstSize...largestSize).contains(size) ? size : nil
}

/// Whether a struct that is to be filled says a size, or there is none to fill.
func canBeFilled<Struct: Sized>(_ target: UnsafeMutablePointer<Struct>?) -> Bool {
  target.map { realSize(of: Struct.self, sizeSaid(by: $0)) != nil } ?? true
}

/// How far one struct of the caller's array is from the next, which the first one has to say: of a zero,
/// nobody knows how large the caller's are. Nil when it says no size.
func sizeOfEach<Struct: Sized>(in array: UnsafeMutablePointer<Struct>) -> Int? {
  let size = sizeSaid(by: array)
  return size == 0 ? nil : realSize(of: Struct.self, size)
}

private func sizeSaid<Struct: Sized>(by target: UnsafeMutablePointer<Struct>) -> UInt32 {
  UnsafeRawPointer(target).load(as: UInt32.self)
}

/// Writes a struct, but for its size. What the caller's version has more is zero. False when its size
/// is none.
@discardableResult
func fill<Struct: Sized>(_ target: UnsafeMutablePointer<Struct>, _ value: Struct) -> Bool {
  let head = MemoryLayout<UInt32>.size
  let bytes = UnsafeMutableRawPointer(target)
  guard let size = realSize(of: Struct.self, bytes.load(as: UInt32.self)) else { return false }
  let known = min(size, MemoryLayout<Struct>.size)
  withUnsafeBytes(of: value) {
    (bytes + head).copyMemory(from: $0.baseAddress! + head, byteCount: known - head)
  }
  (bytes + known).initializeMemory(as: UInt8.self, repeating: 0, count: size - known)
  return true
}

extension inturn_executor_options: Sized { static var firstSize: Int { 48 } }
extension inturn_queue_options: Sized { static var firstSize: Int { 96 } }
extension inturn_operation_options: Sized { static var firstSize: Int { 152 } }
extension inturn_retry: Sized { static var firstSize: Int { 56 } }
extension inturn_batch_options: Sized { static var firstSize: Int { 64 } }
extension inturn_value_options: Sized { static var firstSize: Int { 32 } }
extension inturn_observe_options: Sized { static var firstSize: Int { 24 } }
extension inturn_queue_statistics: Sized { static var firstSize: Int { 72 } }
extension inturn_library_statistics: Sized { static var firstSize: Int { 56 } }
extension inturn_end: Sized { static var firstSize: Int { 64 } }
extension inturn_batch_end: Sized { static var firstSize: Int { 48 } }
extension inturn_operation_info: Sized { static var firstSize: Int { 80 } }
extension inturn_report: Sized { static var firstSize: Int { 32 } }
