internal import ConiferKeyValue

/// What a store does wrong with the edits of a batch.
enum EditFault: Sendable {
  /// The last put of every so many batches that have one is not done.
  case dropsPut(every: Int)
  case dropsDelete(every: Int)
  case dropsClear(every: Int)
  /// The last edit of a batch of several is not done.
  case dropsLastEdit
  /// Puts come before deletes and clears, or after them, whatever their order was.
  case movesPuts(toFront: Bool)
  /// Of two puts of one key the first one counts.
  case firstPutWins
  /// A clear leaves the first key of its range.
  case clearMissesFirst
  /// A clear leaves the last key of its range.
  case clearMissesLast
  /// A clear takes the key at its end too.
  case clearTakesEnd
  /// A clear whose end is before its beginning clears what is between them.
  case clearsBackwards
  case losesEmptyKeys
  /// A put of an empty value removes the key.
  case losesEmptyValues
  /// Of a value only so many bytes are stored.
  case cutsValues(at: Int)
  /// Keys that differ behind so many bytes are one.
  case cutsKeys(at: Int)
  /// Spaces whose numbers differ by 127 are one.
  case sharesSpaces
  /// A space of another shape is another space.
  case keepsShapesApart

  /// The space that is used instead of one.
  func place(of space: Space) -> Space {
    switch self {
    case .sharesSpaces where space.id > 127: Space(id: space.id - 127, shape: space.shape)
    case .keepsShapesApart where space.shape == .blobs:
      Space(id: space.id ^ 128, shape: .blobs)
    default: space
    }
  }
}

extension MutatedStore {
  /// The edits that are done instead of a batch's.
  func edits(of batch: Batch, _ fault: EditFault) throws(StoreError) -> [Batch.Edit] {
    let edits = batch.edits
    let changed: [Batch.Edit] =
      switch fault {
      case .dropsPut(let every): dropping(edits, every) { $0.isPut }
      case .dropsDelete(let every): dropping(edits, every) { $0.isDelete }
      case .dropsClear(let every): dropping(edits, every) { !$0.isPut && !$0.isDelete }
      case .dropsLastEdit: edits.count > 1 ? edits.dropLast() : edits
      case .movesPuts(let toFront):
        edits.filter { $0.isPut == toFront } + edits.filter { $0.isPut != toFront }
      case .firstPutWins: Self.firstPuts(edits)
      case .clearMissesFirst, .clearMissesLast, .clearTakesEnd, .clearsBackwards:
        try cleared(edits, fault)
      default: edits.compactMap { Self.changed($0, fault) }
      }
    if changed != edits || fault.moves(edits) { site.happened() }
    return changed
  }

  /// Leaves out the last edit of a kind, in every so many batches that have one.
  private func dropping(
    _ edits: [Batch.Edit], _ every: Int, _ isOfKind: (Batch.Edit) -> Bool
  ) -> [Batch.Edit] {
    guard let last = edits.lastIndex(where: isOfKind), isTurn(every) else { return edits }
    var left = edits
    left.remove(at: last)
    return left
  }

  private static func firstPuts(_ edits: [Batch.Edit]) -> [Batch.Edit] {
    var known: Set<Place> = []
    return edits.filter { edit in
      guard case .put(let space, let key, _) = edit else { return true }
      return known.insert(Place(space: space.id, key: key)).inserted
    }
  }

  private func cleared(
    _ edits: [Batch.Edit], _ fault: EditFault
  ) throws(StoreError) -> [Batch.Edit] {
    guard edits.contains(where: { !$0.isPut && !$0.isDelete }) else { return edits }
    let view = try base.view()
    defer { view.close() }
    var changed: [Batch.Edit] = []
    for edit in edits {
      guard case .clear(let space, let from, let to) = edit else {
        changed.append(edit)
        continue
      }
      let isRange = bytesPrecede(from, to)
      switch fault {
      case .clearMissesFirst where isRange:
        let first = try view.first(space, atOrAfter: from)?.key
        changed.append(.clear(space, from: first.map { $0 + [0] } ?? from, to: to))
      case .clearMissesLast where isRange:
        var last: Bytes?
        try view.walkKeys(space, .atOrBefore(to)) { key, _ in
          guard key.compare(to) != 0 else { return .next }
          last = Bytes(key)
          return .stop
        }
        let isInside = last.map { !bytesPrecede($0, from) } ?? false
        changed.append(.clear(space, from: from, to: isInside ? last ?? to : to))
      case .clearTakesEnd where isRange: changed += [edit, .delete(space, key: to)]
      case .clearsBackwards where !isRange: changed.append(.clear(space, from: to, to: from))
      default: changed.append(edit)
      }
    }
    return changed
  }

  private static func changed(_ edit: Batch.Edit, _ fault: EditFault) -> Batch.Edit? {
    switch edit {
    case .put(let space, let key, let value):
      switch fault {
      case .losesEmptyKeys: return key.isEmpty ? nil : edit
      case .losesEmptyValues: return value.isEmpty ? .delete(space, key: key) : edit
      case .cutsValues(let count): return .put(space, key: key, value: Bytes(value.prefix(count)))
      case .cutsKeys(let count): return .put(space, key: Bytes(key.prefix(count)), value: value)
      default: return .put(fault.place(of: space), key: key, value: value)
      }
    case .delete(let space, let key):
      if case .cutsKeys(let count) = fault { return .delete(space, key: Bytes(key.prefix(count))) }
      return .delete(fault.place(of: space), key: key)
    case .clear(let space, let from, let to):
      return .clear(fault.place(of: space), from: from, to: to)
    }
  }
}

/// A key in a space.
struct Place: Hashable {
  let space: UInt8
  let key: Bytes
}

extension EditFault {
  /// Whether edits go to another space.
  fileprivate func moves(_ edits: [Batch.Edit]) -> Bool {
    edits.contains { place(of: $0.space).id != $0.space.id }
  }
}

extension Batch.Edit {
  var space: Space {
    switch self {
    case .put(let space, _, _), .delete(let space, _), .clear(let space, _, _): space
    }
  }

  var isPut: Bool { if case .put = self { true } else { false } }
  var isDelete: Bool { if case .delete = self { true } else { false } }
}
