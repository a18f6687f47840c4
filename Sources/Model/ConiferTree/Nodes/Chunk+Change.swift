extension Chunk {
  /// The result of changing a part.
  private enum Outcome {
    case same
    case nothing
    case one(Chunk)
    case two(Chunk, Chunk)
  }

  /// The map with one child set, or removed when the node is empty; nothing when none is left.
  func setting(_ key: Key, to node: Node) -> Chunk? {
    switch changed(key, node, isLast: true) {
    case .same: return self
    case .nothing: return nil
    case .two(let left, let right): return Chunk(chunks: [left, right])
    case .one(var root):
      while case .chunks(let chunks) = root.body, chunks.count == 1 { root = chunks[0] }
      return root
    }
  }

  private func changed(_ key: Key, _ node: Node, isLast: Bool) -> Outcome {
    switch body {
    case .entries(let entries):
      return changed(entries, key, node, isLast: isLast)
    case .chunks(let chunks):
      let i = part(for: key)
      switch chunks[i].changed(key, node, isLast: isLast && i == chunks.count - 1) {
      case .same: return .same
      case .nothing:
        if chunks.count == 1 { return .nothing }
        return .one(Chunk(chunks: chunks.replacing(i..<i + 1, with: [])))
      case .one(let part):
        guard node.isEmpty, part.width < Chunk.capacity / 4, chunks.count > 1 else {
          return .one(Chunk(self, chunks, replacing: i, with: part))
        }
        // A part that a removal left small is joined with a neighbour.
        let joined =
          i > 0 ? Chunk.joined(chunks[i - 1], part) : Chunk.joined(part, chunks[i + 1])
        let range = i > 0 ? i - 1..<i + 1 : i..<i + 2
        return .one(Chunk(chunks: chunks.replacing(range, with: joined)))
      case .two(let left, let right):
        let parts = chunks.replacing(i..<i + 1, with: [left, right])
        guard parts.count > Chunk.capacity else { return .one(Chunk(chunks: parts)) }
        let cut = Chunk.cut(parts.count, appending: isLast && i == chunks.count - 1)
        return .two(
          Chunk(chunks: ContiguousArray(parts[..<cut])),
          Chunk(chunks: ContiguousArray(parts[cut...])))
      }
    }
  }

  private func changed(
    _ entries: ContiguousArray<Node.Child>, _ key: Key, _ node: Node, isLast: Bool
  ) -> Outcome {
    let (i, found) = Chunk.place(of: key, in: entries)
    if node.isEmpty {
      guard found else { return .same }
      if entries.count == 1 { return .nothing }
      let sum = totals.replacing(Totals(entries[i]), with: Totals())
      return .one(Chunk(entries: entries.replacing(i..<i + 1, with: []), totals: sum))
    }
    let new = Totals((key: key, node: node))
    if found {
      if entries[i].node.isIdentical(to: node) { return .same }
      var copy = entries
      copy[i].node = node
      return .one(Chunk(entries: copy, totals: totals.replacing(Totals(entries[i]), with: new)))
    }
    let grown = entries.replacing(i..<i, with: [(key: key, node: node)])
    if grown.count <= Chunk.capacity {
      return .one(Chunk(entries: grown, totals: totals.replacing(Totals(), with: new)))
    }
    let cut = Chunk.cut(grown.count, appending: isLast && i == entries.count)
    return .two(
      Chunk(entries: ContiguousArray(grown[..<cut])),
      Chunk(entries: ContiguousArray(grown[cut...])))
  }

  /// Where to split an overfull part: with ascending keys, such as push ids, the first part stays
  /// full.
  private static func cut(_ count: Int, appending: Bool) -> Int {
    appending ? count - 1 : count / 2
  }

  /// Two neighbours of the same level as one part, or as two of nearly equal size.
  private static func joined(_ left: Chunk, _ right: Chunk) -> [Chunk] {
    switch (left.body, right.body) {
    case (.entries(let a), .entries(let b)):
      return groups(of: a + b).map { Chunk(entries: $0) }
    case (.chunks(let a), .chunks(let b)):
      return groups(of: a + b).map { Chunk(chunks: $0) }
    default:
      return [left, right]
    }
  }

  private static func groups<E>(of all: ContiguousArray<E>) -> [ContiguousArray<E>] {
    if all.count <= capacity { return [all] }
    return [ContiguousArray(all[..<(all.count / 2)]), ContiguousArray(all[(all.count / 2)...])]
  }
}

extension ContiguousArray {
  /// A copy of exact size with a range replaced.
  fileprivate func replacing(_ range: Range<Int>, with new: [Element]) -> ContiguousArray {
    var copy = ContiguousArray()
    copy.reserveCapacity(count - range.count + new.count)
    copy.append(contentsOf: self[..<range.lowerBound])
    copy.append(contentsOf: new)
    copy.append(contentsOf: self[range.upperBound...])
    return copy
  }
}
