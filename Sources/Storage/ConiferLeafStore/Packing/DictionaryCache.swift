package import ConiferKeyValue
import Synchronization

/// The dictionaries that were used last; safe on any thread.
///
/// A number is never used twice in a tree, nor a tree's number in a store, so an entry can never be
/// taken for another one. Only committed dictionaries are added.
package final class DictionaryCache: Sendable {
  /// Each takes its own bytes and, once it was used for packing, about 400 KB of tables.
  package static let capacity = 8

  private struct Entry {
    let tree: TreeID
    let dictionary: TreeDictionary
  }

  /// The last used one comes last.
  private let entries = Mutex<[Entry]>([])

  package func find(_ tree: TreeID, _ number: UInt32) -> TreeDictionary? {
    entries.withLock { entries in
      guard
        let index = entries.lastIndex(where: {
          $0.tree == tree && $0.dictionary.number == number
        })
      else { return nil }
      let entry = entries[index]
      if index < entries.count - 1 { entries.append(entries.remove(at: index)) }
      return entry.dictionary
    }
  }

  package func add(_ tree: TreeID, _ dictionary: TreeDictionary) {
    entries.withLock { entries in
      // Another thread may have read the same one meanwhile.
      entries.removeAll { $0.tree == tree && $0.dictionary.number == dictionary.number }
      if entries.count >= Self.capacity { entries.removeFirst() }
      entries.append(Entry(tree: tree, dictionary: dictionary))
    }
  }
}
