import ConiferTree

/// Listens by path, so that a write finds the listens that it affects.
struct ListenTrie: Sendable {
  private var listens: Set<Namespace.ListenID> = []
  private var below: [Key: ListenTrie] = [:]

  private var isEmpty: Bool { listens.isEmpty && below.isEmpty }

  mutating func insert(_ id: Namespace.ListenID, at path: Path) { insert(id, path.keys[...]) }

  mutating func remove(_ id: Namespace.ListenID, at path: Path) { remove(id, path.keys[...]) }

  /// Adds the listens at a path, above it, and, if asked, below it.
  func collect(at path: Path, below isBelow: Bool, into found: inout Set<Namespace.ListenID>) {
    var place = self
    for key in path.keys {
      found.formUnion(place.listens)
      guard let next = place.below[key] else { return }
      place = next
    }
    found.formUnion(place.listens)
    guard isBelow else { return }
    var open = Array(place.below.values)
    while let next = open.popLast() {
      found.formUnion(next.listens)
      open.append(contentsOf: next.below.values)
    }
  }

  private mutating func insert(_ id: Namespace.ListenID, _ keys: ArraySlice<Key>) {
    guard let key = keys.first else {
      listens.insert(id)
      return
    }
    below[key, default: ListenTrie()].insert(id, keys.dropFirst())
  }

  private mutating func remove(_ id: Namespace.ListenID, _ keys: ArraySlice<Key>) {
    guard let key = keys.first else {
      listens.remove(id)
      return
    }
    guard var place = below[key] else { return }
    // Taken out while it changes, so that it is not copied.
    below[key] = nil
    place.remove(id, keys.dropFirst())
    if !place.isEmpty { below[key] = place }
  }
}
