import InturnCore

extension InteractionQueue {
  /// Adds an interaction that marks itself as finished with a callback.
  ///
  /// Put the call into a `defer` block, before a weak `self` is looked at. If the callback is lost,
  /// the interaction ends as abandoned, a report names the line that added it, and the queue goes
  /// on.
  ///
  /// - Parameters:
  ///   - block: Called on the main thread, in the interaction's turn.
  ///   - fileID: Where it is added, for reports and events.
  ///   - line: The same.
  /// - Returns: The interaction, with which it can be cancelled and its end be waited for. It need
  ///   not be kept. When the queue is closed or full, or its owner gone, it has ended as cancelled
  ///   already.
  @discardableResult
  public func add(
    _ block: @escaping Block, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Interaction {
    add(InteractionOptions(), fileID: fileID, line: line, block)
  }

  /// Adds an interaction with options; otherwise as ``add(_:fileID:line:)``.
  @discardableResult
  public func add(
    _ options: InteractionOptions, fileID: StaticString = #fileID, line: UInt = #line,
    _ block: @escaping Block
  ) -> Interaction {
    addPresentation(options, fileID: fileID, line: line) { presentation in
      block { _ = presentation.finish() }
    }
  }

  /// Adds an interaction that wants to know more than when to begin: that it was cancelled, that an
  /// urgent one wants its place.
  ///
  /// - Parameters:
  ///   - options: How it is presented.
  ///   - fileID: Where it is added, for reports and events.
  ///   - line: The same.
  ///   - body: Called on the main thread, in the interaction's turn; again, with another
  ///     ``Presentation``, after it has given way. It keeps its parameter for as long as the
  ///     interaction lasts.
  /// - Returns: As ``add(_:fileID:line:)``.
  @discardableResult
  public func addPresentation(
    _ options: InteractionOptions = InteractionOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @MainActor (Presentation) -> Void
  ) -> Interaction {
    let interaction = Interaction(body, options.condition)
    interaction.enqueue(on: handle, options.engineOptions, label: "\(fileID):\(line)")
    return interaction
  }
}
