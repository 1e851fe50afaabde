internal import CSwiftTask
import Synchronization

/// Whose child a task is, which the standard library does not say.
///
/// That a task is a child is asked as the standard library does; its parent then stands behind the
/// part that all tasks have, whose length the runtime gives to debuggers. Nothing is read there
/// before children of both kinds, whose parent is known, have been found to have it there. Until
/// then, and where it is not so, frames are bound to a task-local value instead: see `Frame`.
@usableFromInline
package enum RuntimeParents {
  /// 1 when parents are found, -1 when they are not, 0 as long as that is not known. The same for
  /// all tasks: relaxed.
  private static let knowledge = Atomic<Int>(0)

  @usableFromInline
  static var areFound: Bool { knowledge.load(ordering: .relaxed) > 0 }

  /// The parent of the current task, or of one of its ancestors: these live as long as it runs.
  @inline(__always)
  static func parent(of task: UnsafeRawPointer) -> UnsafeRawPointer? {
    guard areFound, cswift_task_is_child(task) else { return nil }
    return cswift_task_behind(task)
  }

  /// Begins to find out, in a task; once.
  static func find() { _ = search }

  private static let search = Task.detached { await findOut() }

  /// Has no parents found from now on, as in a runtime whose tasks look otherwise.
  package static func neverFind() async {
    await search.value
    knowledge.store(-1, ordering: .relaxed)
  }

  private static func findOut() async {
    guard let task = RuntimeTask.current else { return }
    let parent = UInt(bitPattern: task)
    async let isFoundByOne = currentIsChild(of: parent)
    let isFoundByMany = await withTaskGroup(of: Bool.self) { group in
      group.addTask { currentIsChild(of: parent) }
      return await group.next() ?? false
    }
    let isFound = await isFoundByOne && isFoundByMany
    knowledge.store(isFound ? 1 : -1, ordering: .relaxed)
  }

  private static func currentIsChild(of parent: UInt) -> Bool {
    guard let task = RuntimeTask.current, cswift_task_is_child(task) else { return false }
    return UInt(bitPattern: cswift_task_behind(task)) == parent
  }
}
