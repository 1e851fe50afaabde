// Items are removed from a bag, with one request to a shop after another.
//
//     swift run --package-path examples/swift bag
//
// What to look at: the bag that the last request leaves is the result. An item that is not there ends
// the list early with an error: the requests after it are not made.

import AsyncTaskPerformer
import Foundation

struct Item {
  let id: Int
}

struct Bag: CustomStringConvertible {
  var items: [Item]

  var description: String { items.map { "\($0.id)" }.joined(separator: ", ") }
}

/// A remote shop: it has one bag, and answers later, on a thread of its own.
final class ECommAPI: @unchecked Sendable {
  // Safe to share: `queue` protects `bag`.

  struct ItemNotInBag: Error {
    let id: Int
  }

  private let queue = DispatchQueue(label: "shop")
  private var bag: Bag

  init(bag: Bag) { self.bag = bag }

  func removeFromBag(item id: Int, answer: @escaping @Sendable (Bag?, Error?) -> Void) {
    queue.async {
      print("Item \(id) is removed")
      if let index = self.bag.items.firstIndex(where: { $0.id == id }) {
        self.bag.items.remove(at: index)
        answer(self.bag, nil)
      } else {
        answer(nil, ItemNotInBag(id: id))
      }
    }
  }
}

final class RemoveItemFromBagOperation: AsyncOperationWithCompletion<Bag>, @unchecked Sendable {

  let itemID: Int
  let api: ECommAPI

  init(itemID: Int, api: ECommAPI) {
    self.itemID = itemID
    self.api = api
  }

  override func main() {
    api.removeFromBag(item: itemID) { [weak self] (updatedBag, error) in
      self?.completion?(updatedBag, error)
      self?.finish()
    }
  }

}

let currentBag = Bag(items: [Item(id: 1), Item(id: 2), Item(id: 3), Item(id: 4)])
let api = ECommAPI(bag: currentBag)
let synchronousOperationQueue = SynchronousOperationQueue(defaultValue: currentBag)

func remove(_ itemsToRemove: [Int], then next: @escaping @Sendable () -> Void) {
  let operations = itemsToRemove.map { RemoveItemFromBagOperation(itemID: $0, api: api) }
  synchronousOperationQueue.executeOperations(operations) { (finalBag, error) in
    if let error = error {
      print(":( \(error)")
    } else if let finalBag {
      print("Updated Bag: \(finalBag)")
    }
    next()
  }
}

remove([2, 4]) {
  remove([7, 1]) {
    // Item 1 is still there: the first error cancels the rest.
    remove([3]) { exit(EXIT_SUCCESS) }
  }
}

// Completions are called on the main queue, which an app's main loop drains.
dispatchMain()
