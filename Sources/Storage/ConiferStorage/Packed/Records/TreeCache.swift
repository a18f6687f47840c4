import ConiferKeyValue
import Synchronization

/// What is known of trees, kept with the record that it was read from; safe on any thread.
///
/// It holds where the store still has that very record.
final class TreeCache: Sendable {
  private struct Entry {
    let value: Bytes
    let info: TreeInfo
  }

  /// As many as there are trees in use; an app has a handful.
  private static let capacity = 64

  private let entries = Mutex<[TreeID: Entry]>([:])

  /// What is known of a tree.
  ///
  /// - Throws: as `Trees.known`.
  func known(_ view: any OrderedView, _ id: TreeID) throws(StoreError) -> TreeInfo {
    let entry = entries.withLock { $0[id] }
    let key = Trees.infoKey(id)
    var isSame = false
    let value: Bytes?? = try view.get(Spaces.system, key) { value in
      isSame = entry.map { value.equals($0.value) } ?? false
      return isSame ? nil : Bytes(value)
    }
    if isSame, let entry { return entry.info }
    let info = try Trees.known(view, id)
    if case .some(.some(let value)) = value {
      entries.withLock { entries in
        if entries.count >= Self.capacity { entries = [:] }
        entries[id] = Entry(value: value, info: info)
      }
    }
    return info
  }
}
