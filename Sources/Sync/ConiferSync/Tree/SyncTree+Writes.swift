package import ConiferTree

extension SyncTree {
  /// Lays a write over the views.
  ///
  /// - Parameters:
  ///   - id: its place among all; a known one is ignored.
  ///   - changes: the new nodes by absolute paths, without server values; none contains another.
  ///   - isVisible: whether views show it; otherwise only questions that ask for it do.
  package func write(
    _ id: OverlayID, _ changes: [NodeChange], isVisible: Bool = true
  ) -> SyncResult {
    var result = SyncResult()
    guard overlay.add(id, changes, isVisible: isVisible), isVisible else { return result }
    root.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
    return result
  }

  /// Lays an earlier queued write over views that open later; raises no events.
  ///
  /// - Parameters:
  ///   - id: its place among all; a known one is ignored.
  ///   - changes: as in `write`.
  package func load(_ id: OverlayID, _ changes: [NodeChange]) {
    _ = overlay.add(id, changes, isVisible: true)
  }

  /// Copies the visible writes at, above or below a path into another tree without views.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - other: the tree; writes that it has stay as they are.
  ///   - isWanted: which writes.
  package func copyWrites(
    touching path: Path, to other: SyncTree, where isWanted: (OverlayID) -> Bool = { _ in true }
  ) {
    for write in overlay.shown
    where isWanted(write.id)
      && write.changes.contains(where: {
        $0.path.contains(path) || path.contains($0.path)
      })
    {
      _ = other.overlay.add(write.id, write.changes, isVisible: true)
    }
  }

  /// Removes a write that the server has applied; the server's data came before. An unknown one is
  /// ignored.
  ///
  /// - Parameters:
  ///   - id: its place among all.
  ///   - isEarly: whether the connection broke before the server's data came: then the write is taken
  ///     for the server's data, until the listens are answered on the next connection.
  package func acknowledge(_ id: OverlayID, isEarly: Bool = false) -> SyncResult {
    var result = SyncResult()
    guard let write = overlay.remove(id), write.isVisible else { return result }
    root.visit(write.changes) { view, changes in
      let dropped = view.adopt(changes, isEarly: isEarly)
      if !dropped.isEmpty { refresh(view, dropped, into: &result) }
    }
    reveal(write, into: &result)
    return result
  }

  /// Takes a write back; an unknown one is ignored.
  package func revert(_ id: OverlayID) -> SyncResult {
    var result = SyncResult()
    if let write = overlay.remove(id), write.isVisible { reveal(write, into: &result) }
    return result
  }

  /// Reverts all writes, hidden ones too.
  package func revertAll() -> SyncResult {
    var result = SyncResult()
    let changes = overlay.removeAll().filter(\.isVisible).flatMap(\.changes)
    root.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
    return result
  }

  /// Shows what a removed write covered, unless a newer one covers it too.
  private func reveal(_ write: Overlay.Removed, into result: inout SyncResult) {
    let changes = write.changes.filter { !overlay.isCovered($0.path, since: write.id) }
    root.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
  }
}
