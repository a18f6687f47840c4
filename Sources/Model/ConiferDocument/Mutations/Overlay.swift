/// The combined effect of all waiting batches on one document.
public struct Overlay: Sendable, Hashable {
  /// Whether an overlay replaces a document's fields, patches some of them, or deletes the
  /// document.
  public enum Effect: Sendable, Hashable {
    /// The document has these fields, whatever it had.
    case set(MapValue)
    /// The fields of the mask are as in the map; those that it lacks are deleted.
    case patch(MapValue, FieldMask)
    /// The document is deleted.
    case delete
  }

  /// The document.
  public let path: DocumentPath
  /// What is done to it.
  public let effect: Effect
  /// Fields with a server timestamp whose previous value is the one in the document, whatever the
  /// overlay itself holds as previous value.
  package let stamped: Set<FieldPath>

  /// An overlay as a store holds it.
  public init(_ path: DocumentPath, _ effect: Effect) {
    self.init(path, effect, stamped: [])
  }

  /// An overlay with fields whose previous value is the one in the document.
  package init(_ path: DocumentPath, _ effect: Effect, stamped: Set<FieldPath>) {
    self.path = path
    self.effect = effect
    self.stamped = stamped
  }

  /// The effect of batches on a document.
  ///
  /// - Parameters:
  ///   - batches: the batches, in order; their writes to other documents are ignored.
  ///   - base: the document as the server last sent it.
  /// - Returns: the overlay; none when no write takes place.
  public init?(of batches: some Sequence<MutationBatch>, over base: Document) {
    self.init(of: batches, behind: nil, over: base)
  }

  /// The combined effect of an overlay and of later batches on a document.
  ///
  /// - Parameters:
  ///   - known: the overlay of the earlier batches.
  ///   - base: the document as the server last sent it.
  package init?(
    of batches: some Sequence<MutationBatch>, behind known: Overlay?, over base: Document
  ) {
    var document = known?.applied(to: base) ?? base
    var touched = TouchedFields(known)
    for batch in batches {
      for mutation in batch.writes(to: base.path) where mutation.precondition.holds(for: document) {
        document = mutation.applied(to: document, written: batch.written)
        touched.add(mutation.change)
      }
    }
    guard touched.isWritten else { return nil }
    guard let fields = document.fields else {
      self.init(base.path, .delete)
      return
    }
    guard let all = touched.all else {
      self.init(base.path, .set(fields), stamped: touched.stamped)
      return
    }
    let places = all.paths.map { Overlay.place($0, in: fields, over: base.fields) }
    let mask = FieldMask(places)
    self.init(
      base.path, .patch(MapValue.empty.taking(mask, from: fields), mask),
      stamped: touched.stamped.intersection(places))
  }

  /// Whether the fields that it shows depend on the document's.
  package var needsFields: Bool {
    if case .patch = effect { true } else { false }
  }

  /// The document as it is shown until the server has answered.
  public func applied(to document: Document) -> Document {
    switch effect {
    case .set(let fields):
      return document.pending(.found(stamping(fields, over: document.fields)))
    case .delete: return document.pending(.missing)
    case .patch(let fields, let mask):
      let patched = (document.fields ?? .empty).taking(mask, from: fields)
      return document.pending(.found(stamping(patched, over: document.fields)))
    }
  }

  /// Gives server timestamps the previous values that a document has.
  private func stamping(_ fields: MapValue, over base: MapValue?) -> MapValue {
    stamped.reduce(into: fields) { fields, field in
      guard case .serverTimestamp(let written, _) = fields[field] else { return }
      let operation = FieldTransform.Operation.serverTimestamp
      fields.set(operation.applied(to: base?[field], written: written), at: field)
    }
  }

  /// Whether the overlay, which a store holds, may stand for the effect of the waiting writes over
  /// every document, although it was made from more writes or over another document.
  ///
  /// It must hold all fields that the writes touch, and no previous value of a server timestamp may
  /// be the document's that is not theirs. What both do to one document is compared elsewhere.
  package func stands(for effect: Overlay) -> Bool {
    guard stamped.isSubset(of: effect.stamped) else { return false }
    switch (self.effect, effect.effect) {
    case (.set, .set), (.set, .patch), (.delete, .delete): return true
    case (.patch(_, let mask), .patch(_, let touched)): return touched.paths.allSatisfy(mask.covers)
    default: return false
    }
  }

  /// Whether the overlay stays the same when the document below it changes, and when older waiting
  /// writes end.
  ///
  /// This is so when the newest writes alone determine all that it holds. Previous values of server
  /// timestamps may come from the document.
  ///
  /// - Parameters:
  ///   - newest: the newest waiting batches, the newest first; all writes that have ended are
  ///     older.
  ///   - oldest: the oldest waiting batch.
  ///   - base: the document as the server last sent it.
  /// - Returns: false also when these batches are not enough to decide it.
  package func isDecided(
    by newest: some Sequence<MutationBatch>, oldest: MutationBatch, over base: Document
  ) -> Bool {
    // The oldest write must be applied to the changed document too, so that the conditions of later
    // writes hold or fail as before.
    guard base.fields != nil,
      let first = oldest.writes(to: path).first, first.precondition.isPlain,
      first.change != .verify
    else { return false }
    var open: Set<FieldPath>
    switch effect {
    case .patch(let fields, let mask):
      // The place where a nested field is deleted depends on the maps around it.
      guard mask.paths.allSatisfy({ $0.names.count == 1 || fields[$0] != nil }) else {
        return false
      }
      open = Set(mask.paths)
    case .set, .delete: open = []
    }
    for batch in newest {
      for mutation in batch.writes(to: path).reversed() {
        switch (mutation.change, effect) {
        case (.set(_, let transforms), .set):
          // The previous value of a server timestamp may come from a write that has ended.
          return mutation.precondition == .none
            && transforms.allSatisfy {
              $0.operation != .serverTimestamp || stamped.contains($0.field)
            }
        case (.delete, .delete): return mutation.precondition == .none
        case (.set, _), (.delete, _), (_, .delete): return false
        case (.verify, _): return false
        case (.patch(_, let mask, let transforms), _):
          guard mutation.precondition.isPlain else { return false }
          let times = transforms.times
          let known = stamped.intersection(times)
          // The previous value of a server timestamp may come from a write that has ended, also where the mask covers it.
          open = open.filter { field in
            !known.contains(field)
              && !(mask.covers(field)
                && times.allSatisfy { known.contains($0) || !field.contains($0) })
          }
          if case .patch = effect, open.isEmpty { return true }
        }
      }
    }
    return false
  }

  /// The path to copy from the result, so that a touched field becomes what it is in the result.
  ///
  /// It is the field's own path when the field is there. A field that is absent is deleted; but
  /// when the writes created the map around it, that map is copied, even when it is empty.
  private static func place(
    _ field: FieldPath, in result: MapValue, over base: MapValue?
  ) -> FieldPath {
    var around = result
    for (index, name) in field.names.enumerated() {
      guard let value = around[name] else {
        guard index > 0 else { return FieldPath(unchecked: [name]) }
        let parent = FieldPath(unchecked: Array(field.names[..<index]))
        return base?[parent]?.map == nil ? parent : parent.appending(name)
      }
      // Nothing is in a value that is not a map. The field stays in the mask: where the document
      // below changes, there may be a map with it, and the overlay is not decided.
      guard let map = value.map else { return field }
      around = map
    }
    return field
  }
}
