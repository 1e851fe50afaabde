/// A first-in, first-out buffer.
///
/// Taking an element moves it out and destroys nothing, so that it may be done under a lock.
@usableFromInline
@frozen
package struct Backlog<Element> {
  @usableFromInline var items: [Element?] = []
  /// How many of `items` have been taken.
  @usableFromInline var head = 0

  @inlinable
  package init() {}

  @inlinable
  package var count: Int { items.count - head }

  @inlinable
  package var isEmpty: Bool { items.count == head }

  @inlinable
  package var first: Element? { isEmpty ? nil : items[head] }

  @inlinable
  package var last: Element? { isEmpty ? nil : items[items.count - 1] }

  @inlinable
  package mutating func append(_ element: consuming Element) { items.append(element) }

  @inlinable
  package mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    var element: Element?
    swap(&element, &items[head])
    head += 1
    if head == items.count {
      items.removeAll(keepingCapacity: items.capacity <= 1024)
      head = 0
    } else if head >= 64 && 2 * head >= items.count {
      // On average, each element is moved once for each time that it is added.
      items.removeFirst(head)
      head = 0
    }
    return element
  }

  @inlinable
  package mutating func popLast() -> Element? {
    isEmpty ? nil : items.removeLast()
  }
}

extension Backlog: Equatable where Element: Equatable {
  @inlinable
  package static func == (left: Self, right: Self) -> Bool {
    left.items[left.head...] == right.items[right.head...]
  }
}

extension Backlog: Hashable where Element: Hashable {
  @inlinable
  package func hash(into hasher: inout Hasher) { hasher.combine(items[head...]) }
}
