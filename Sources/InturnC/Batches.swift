import CInturn
import InturnCore

@_cdecl("inturn_queue_enqueue_batch") @implementation
public func inturn_queue_enqueue_batch(
  _ queue: inturn_queue, _ options: UnsafePointer<inturn_batch_options>?,
  _ items: UnsafePointer<inturn_batch_item>?, _ count: Int,
  _ out_batch: UnsafeMutablePointer<inturn_batch>?
) -> inturn_status {
  inturn_queue_enqueue_batch_at(nil, queue, options, items, count, out_batch)
}

@_cdecl("inturn_queue_enqueue_batch_at") @implementation
public func inturn_queue_enqueue_batch_at(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue,
  _ options: UnsafePointer<inturn_batch_options>?, _ items: UnsafePointer<inturn_batch_item>?,
  _ count: Int, _ out_batch: UnsafeMutablePointer<inturn_batch>?
) -> inturn_status {
  let function: StaticString = "inturn_queue_enqueue_batch"
  let given = options.map { sized($0) }
  let onEnd = CallbackContext(given ?? nil)
  var status: Status
  if let items = array(items, count, most: Int(UInt32.max)) {
    var checked = BatchOptions()
    checked.site = Site(site)
    status =
      items.allSatisfy { $0.work != nil }
      ? check(given, count: count, onEnd: onEnd, into: &checked, in: function)
      : refuse("items[].work", in: function)
    if status.isOK {
      let (result, batch) = Engine.enqueueBatch(
        Handle(queue), checked, count: count, wantsHandle: out_batch != nil
      ) {
        BatchItem(
          work: rawWork(items[$0].work)!, context: items[$0].context, destroy: items[$0].destroy)
      }
      status = result
      if result.isOK { out_batch?.pointee.bits = batch.bits }
    }
    if !status.isOK { for item in items { item.destroy?(item.context) } }
  } else {
    status = refuse(items == nil ? "items" : "count", in: function)
  }
  if !status.isOK { onEnd.release() }
  return inturn_status(status)
}

extension CallbackContext {
  fileprivate init(_ options: inturn_batch_options?) {
    self.init(context: options?.end_context, destroy: options?.end_destroy)
  }
}

/// Returns the options in the engine's form, or why they are refused. `given` is nil without
/// options, and contains nil when their size is wrong.
private func check(
  _ given: inturn_batch_options??, count: Int, onEnd: CallbackContext,
  into result: inout BatchOptions, in function: StaticString = #function
) -> Status {
  guard let given else { return .ok }
  func refused(_ field: StaticString) -> Status { refuse("options->", field, in: function) }
  guard let options = given else { return refused("size") }
  guard let policy = BatchPolicy(rawValue: UInt8(clamping: options.policy.rawValue))
  else { return refused("policy") }
  guard policy == .enough ? (1...max(1, count)).contains(options.enough) : options.enough == 0
  else { return refused("enough") }
  guard let edges = options.checkedEdges(count: count) else { return refused("edges") }
  result.policy = policy
  result.enough = options.enough
  result.edges = edges
  if let pointer = options.operation {
    guard let operation = sized(pointer) else { return refused("operation->size") }
    guard operation.on_end == nil, operation.end_context == nil, operation.end_destroy == nil
    else { return refused("operation->on_end, which a batch has itself") }
    if operation.join { return refused("operation->join") }
    var checked = OperationOptions()
    let status = withUnsafePointer(to: operation) {
      check($0, "options->operation->", into: &checked, in: function)
    }
    if !status.isOK { return status }
    result.operation = checked
  }
  let function = options.on_end
  if function == nil && onEnd.destroy == nil { return .ok }
  result.onEnd = { batch in
    let process = ProcessState.current
    if let function, var end = inturn_batch_end(batch) { function(onEnd.context, &end) }
    if ProcessState.current == process { onEnd.release() }
  }
  return .ok
}

extension inturn_batch_options {
  /// The edges in the engine's form, which is the same; nil when one of them is invalid.
  fileprivate func checkedEdges(count: Int) -> UnsafeBufferPointer<BatchEdge>? {
    let start = UnsafeRawPointer(edges)?.assumingMemoryBound(to: BatchEdge.self)
    guard let edges = array(start, edge_count, most: Int(UInt32.max)) else { return nil }
    return edges.allSatisfy { 0 <= $0.after && $0.after < $0.place && $0.place < count }
      ? edges : nil
  }
}

extension inturn_batch_end {
  /// Nil while the batch has not ended.
  fileprivate init?(_ batch: Batch) {
    guard let summary = batch.summary else { return nil }
    self.init()
    size = UInt32(MemoryLayout<Self>.size)
    self.batch.bits = batch.handle.bits
    outcome = inturn_outcome(UInt32(summary.outcome.rawValue))
    code = summary.code
    count = batch.count
    finished = summary.finished
    decided_by = summary.decidedBy ?? batch.count
  }
}

@_cdecl("inturn_batch_cancel") @implementation
public func inturn_batch_cancel(_ batch: inturn_batch) -> inturn_status {
  let (status, batch) = Engine.batch(Handle(batch))
  return inturn_status(batch?.cancel() ?? status)
}

@_cdecl("inturn_batch_get_progress") @implementation
public func inturn_batch_get_progress(
  _ batch: inturn_batch, _ out_ended: UnsafeMutablePointer<Int>?,
  _ out_count: UnsafeMutablePointer<Int>?
) -> inturn_status {
  let (status, batch) = Engine.batch(Handle(batch))
  if let batch {
    out_ended?.pointee = batch.ended
    out_count?.pointee = batch.count
  }
  return inturn_status(status)
}

@_cdecl("inturn_batch_get_end") @implementation
public func inturn_batch_get_end(
  _ batch: inturn_batch, _ place: Int, _ out_end: UnsafeMutablePointer<inturn_end>?
) -> inturn_status {
  let (status, batch) = Engine.batch(Handle(batch))
  guard let batch else { return inturn_status(status) }
  if !(0..<batch.count).contains(place) { return refuse("place") }
  guard let out_end else { return refuse("out_end") }
  if !canBeFilled(out_end) { return refuse("out_end->size") }
  guard let end = batch.end(of: place) else { return INTURN_E_BUSY }
  fill(out_end, inturn_end(end))
  return INTURN_OK
}

@_cdecl("inturn_batch_wait") @implementation
public func inturn_batch_wait(
  _ batch: inturn_batch, _ timeout_ns: Int64, _ out_end: UnsafeMutablePointer<inturn_batch_end>?
) -> inturn_status {
  defer { Site.forgetWait() }
  let (status, batch) = Engine.batch(Handle(batch))
  guard let batch else { return inturn_status(status) }
  if !canBeFilled(out_end) { return refuse("out_end->size") }
  let result = batch.wait(timeoutNanoseconds: timeout_ns)
  if result.isOK, let out_end, let end = inturn_batch_end(batch) { fill(out_end, end) }
  return inturn_status(result)
}

@_cdecl("inturn_batch_release") @implementation
public func inturn_batch_release(_ batch: inturn_batch) -> inturn_status {
  inturn_status(Engine.release(batch: Handle(batch)))
}
