import CInturn

/// A struct of the caller's that begins with its size. It may grow with each version: programs
/// compiled with an older or newer header than the library's pass a shorter or longer one.
protocol Sized {
  /// Its size in 0.1, which a size of zero stands for.
  static var firstSize: Int { get }
  /// All zeros.
  init()
}

/// No struct is ever larger, which limits how far a wrong size makes anybody read.
private let largestSize = 4096

/// Reads a struct. Fields that the caller's version lacks are zero. Nil when its size is invalid,
/// or when bytes that this version does not know are not zero.
@inline(__always)
func sized<Struct: Sized>(_ pointer: UnsafePointer<Struct>) -> Struct? {
  withSized(pointer) { $0.pointee }
}

/// Calls `body` with a struct, in place if nothing is missing: copying a large one takes time.
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

/// How many bytes of a struct this version knows.
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

/// Whether a struct to be filled states a valid size, or there is none to fill.
func canBeFilled<Struct: Sized>(_ target: UnsafeMutablePointer<Struct>?) -> Bool {
  target.map { realSize(of: Struct.self, sizeSaid(by: $0)) != nil } ?? true
}

/// The distance between the structs of the caller's array. The first one has to state it: a zero
/// says nothing about the size of the caller's structs. Nil when it states no valid size.
func sizeOfEach<Struct: Sized>(in array: UnsafeMutablePointer<Struct>) -> Int? {
  let size = sizeSaid(by: array)
  return size == 0 ? nil : realSize(of: Struct.self, size)
}

private func sizeSaid<Struct: Sized>(by target: UnsafeMutablePointer<Struct>) -> UInt32 {
  UnsafeRawPointer(target).load(as: UInt32.self)
}

/// Writes a struct, except its size. Fields that only the caller's version has become zero. False
/// when its size is invalid.
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
