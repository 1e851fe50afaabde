/// A piece of asynchronous work that knows how to do itself.
///
///     struct SayHelloTask: AsyncTask {
///       let id: Int
///
///       func execute(completion: @escaping () -> Void) {
///         print("Hello World \(id)")
///         completion()
///       }
///     }
@preconcurrency public protocol AsyncTask: Sendable {
  /// Begins the work, and calls `completion` when it is done.
  ///
  /// - Parameter completion: May be called at once or later, from any thread. The first call
  ///   counts. If it goes away uncalled, the task is over, too, and a report names it.
  func execute(completion: @escaping @Sendable () -> Void)
}
