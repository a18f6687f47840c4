extension NodeBuilder {
  /// Gives away all that is finished, as writes in the order of the text.
  ///
  /// Children of open containers are returned one by one. The first child of such a container is
  /// preceded by a write of the empty node to it, which removes earlier data. A container's
  /// priority follows its last child, as a write to its `.priority`, which has no effect on a node
  /// that stayed empty. A finished outermost value is returned as one piece. Applying all pieces of
  /// all calls in order, each as an overwrite of its path, produces exactly the node that an
  /// undrained builder would have made.
  /// - Returns: The pieces; none when nothing is finished.
  public mutating func drain() -> [Piece] {
    var pieces = closed
    closed = []
    pendingBytes -= closedCost
    closedCost = 0
    if let result {
      pieces.append((root, result))
      pendingBytes -= NodeBuilder.cost(result)
      self.result = nil
    }

    // Metadata contains only a few bytes, which stay with it.
    var open = 0
    while open < stack.count, open == 0 || stack[open - 1].currentKey != nil { open += 1 }
    guard let deepest = stack[..<open].lastIndex(where: { !$0.children.isEmpty }) else {
      return pieces
    }
    for level in 0...deepest {
      let place = path(of: level)
      if !stack[level].isDrained {
        stack[level].isDrained = true
        pieces.append((place, .empty))
      }
      emit(stack[level], at: place, into: &pieces)
      pendingBytes -= stack[level].cost
      stack[level].children.removeAll()
      stack[level].cost = 0
    }
    return pieces
  }

  func emit(_ frame: Frame, at place: Path, into pieces: inout [Piece]) {
    for (key, node) in frame.children { pieces.append((place.appending(key), node)) }
  }
}
