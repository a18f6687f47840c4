import ConiferKeyValue
import Synchronization

/// What is known of trees, kept with the record that it was read from; safe on any thread.
///
/// It holds where the store still has that very record.
final class TreeCache: Sendable {
  private struct Entry {
    let value: Bytes
    let info: TreeInfo
    /// The last moment at which the store was seen to have the record.
    let moment: UInt64?
  }

  /// As many as there are trees in use; an app has a handful.
  private static let capacity = 64

  private let entries = Mutex<[TreeID: Entry]>([:])

  /// What is known of a tree.
  ///
  /// - Throws: as `Trees.known`.
  func known(_ view: LateView, _ id: TreeID) throws(StoreError) -> TreeInfo {
    let entry = entries.withLock { $0[id] }
    if let entry, let seen = entry.moment, view.moment?.sees(seen) == true {
      view.use()
      return entry.info
    }
    let key = Trees.infoKey(id)
    var isSame = false
    let value: Bytes?? = try view.get(Spaces.system, key) { value in
      isSame = entry.map { value.equals($0.value) } ?? false
      return isSame ? nil : Bytes(value)
    }
    if isSame, let entry {
      keep(Entry(value: entry.value, info: entry.info, moment: view.moment?.number), id)
      return entry.info
    }
    let info = try Trees.known(view, id)
    if case .some(.some(let value)) = value {
      keep(Entry(value: value, info: info, moment: view.moment?.number), id)
    }
    return info
  }

  /// How a tree orders siblings, if it is known to be there at a moment.
  func order(_ id: TreeID, at moment: Moment) -> KeyOrder? {
    entries.withLock { entries in
      guard let entry = entries[id], let seen = entry.moment, moment.sees(seen) else { return nil }
      return entry.info.order
    }
  }

  private func keep(_ entry: Entry, _ id: TreeID) {
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries = [:] }
      entries[id] = entry
    }
  }
}
