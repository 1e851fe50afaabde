import CInturn
import InturnCore

/// A datum in the engine's form, or why it is invalid. Bytes are copied; a pointer is retained if
/// the value does so. `name` is the argument's name.
func rawValue(
  _ datum: UnsafePointer<inturn_datum>?, _ references: ReferenceFunctions,
  _ name: StaticString = "datum", in function: StaticString = #function
) -> (Status, RawValue?) {
  func refused(_ field: StaticString = "") -> (Status, RawValue?) {
    (refuse(name, field, in: function), nil)
  }
  guard let datum = datum?.pointee else { return refused() }
  switch datum.type {
  case INTURN_DATUM_INTEGER: return (.ok, .integer(datum.integer))
  case INTURN_DATUM_DOUBLE: return (.ok, .double(datum.real))
  case INTURN_DATUM_BOOLEAN: return (.ok, .boolean(datum.boolean))
  case INTURN_DATUM_PROGRESS:
    let progress = Progress(completed: datum.integer, total: datum.total)
    return progress.isValid ? (.ok, .progress(progress)) : refused("->total")
  case INTURN_DATUM_POINTER:
    return (.ok, .pointer(RawPointer(datum.pointer, references)))
  case INTURN_DATUM_STRING, INTURN_DATUM_BYTES:
    guard datum.bytes != nil || datum.length == 0, datum.length >= 0 else {
      return refused("->bytes")
    }
    if datum.type == INTURN_DATUM_STRING && !isUTF8(datum.bytes, datum.length) {
      return refused("->bytes, which are not UTF-8")
    }
    guard let bytes = RawBytes(copying: datum.bytes, count: datum.length) else {
      return (.noMemory, nil)
    }
    return (.ok, datum.type == INTURN_DATUM_STRING ? .string(bytes) : .bytes(bytes))
  default: return refused("->type")
  }
}

/// Allocates nothing, unlike making a string.
func isUTF8(_ bytes: UnsafeRawPointer?, _ count: Int) -> Bool {
  let text = UnsafeRawBufferPointer(start: bytes, count: count)
  if text.reduce(0, |) < 0x80 { return true }
  var rest = text.makeIterator()
  var decoder = UTF8()
  while true {
    switch decoder.decode(&rest) {
    case .scalarValue: continue
    case .emptyInput: return true
    case .error: return false
    }
  }
}

extension inturn_datum {
  /// A datum for a callback; `data` has to outlive the call.
  init(_ data: RawValue) {
    self.init()
    type = inturn_datum_type(data.kind.rawValue)
    switch data {
    case .integer(let number): integer = number
    case .double(let number): real = number
    case .boolean(let truth): boolean = truth
    case .string(let text), .bytes(let text):
      bytes = text.start
      length = text.count
    case .pointer(let user): pointer = user.address
    case .progress(let progress):
      integer = progress.completed
      total = progress.total
    }
  }

  /// A datum for the caller, with its own reference.
  init(owning data: RawValue) {
    self.init(data)
    owner = data.owner.map { Unmanaged.passRetained($0).toOpaque() }
  }
}
