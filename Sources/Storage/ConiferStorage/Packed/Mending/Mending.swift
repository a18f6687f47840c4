import ConiferKeyValue

/// The mending of one tree, between its slices: first what nothing refers to goes, then all is counted
/// anew, each from a frozen view of its own.
struct Mending {
  enum Phase {
    case sweeping(OrphanSweep)
    case counting(Recount)
  }

  let tree: TreeID
  let view: FrozenView
  var phase: Phase

  /// About how many bytes of records its phase has looked at.
  var looked: Int {
    switch phase {
    case .sweeping(let sweep): sweep.looked
    case .counting(let recount): recount.looked
    }
  }

  init(_ tree: TreeID, _ view: FrozenView, _ phase: Phase) {
    self.tree = tree
    self.view = view
    self.phase = phase
  }
}

/// A view that is closed when nobody has it any more.
final class FrozenView {
  let view: LeafSnapshot

  init(_ view: LeafSnapshot) { self.view = view }

  deinit { view.close() }
}
