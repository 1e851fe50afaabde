/// Ended operations whose ends are still to be delivered, in the order of delivery.
struct Deliveries {
  private(set) var first: OperationSlot.Pointer?
  private var last: OperationSlot.Pointer?

  mutating func append(_ slot: OperationSlot.Pointer) {
    slot.pointee.nextDelivery = nil
    if let last { last.pointee.nextDelivery = slot } else { first = slot }
    last = slot
  }

  mutating func prepend(_ slot: OperationSlot.Pointer) {
    slot.pointee.nextDelivery = first
    first = slot
    if last == nil { last = slot }
  }

  mutating func pop() -> OperationSlot.Pointer? {
    guard let slot = first else { return nil }
    first = slot.pointee.nextDelivery
    if first == nil { last = nil }
    return slot
  }
}
