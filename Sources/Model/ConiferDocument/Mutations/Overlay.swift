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
  /// Fields whose server timestamps have as their previous value what the document has there, whatever they hold
  /// themselves.
  package let stamped: Set<FieldPath>

  /// An overlay as a store holds it.
  public init(_ path: DocumentPath, _ effect: Effect) {
    self.init(path, effect, stamped: [])
  }

  /// The same with fields whose previous value the document tells.
  package init(_ path: DocumentPath, _ effect: Effect, stamped: Set<FieldPath>) {
    self.path = path
    self.effect = effect
    self.stamped = stamped
  }

  /// The effect of batches on a document.
  ///
  /// - Parameters:
  ///   - batches: the batches, in order; what they do elsewhere is of no matter.
  ///   - base: the document as the server last sent it.
  /// - Returns: the overlay; none when no write takes place.
  public init?(of batches: some Sequence<MutationBatch>, over base: Document) {
    self.init(of: batches, behind: nil, over: base)
  }

  /// The effect of batches on a document that has an overlay.
  ///
  /// - Parameters:
  ///   - known: what the batches in front of these do.
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
    let places = all.paths.compactMap { Overlay.place($0, in: fields, over: base.fields) }
    let mask = FieldMask(places)
    self.init(
      base.path, .patch(MapValue.empty.taking(mask, from: fields), mask),
      stamped: touched.stamped.intersection(places))
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

  /// Whether the overlay stays what it is while the document it lies over changes, and while writes in front of some end.
  ///
  /// It does where these writes decide all that it holds, but for previous values, which the document tells.
  ///
  /// - Parameters:
  ///   - newest: the newest batches that wait, the newest first; all that ended are older.
  ///   - oldest: the oldest batch that waits.
  ///   - base: the document as the server now says it is.
  /// - Returns: false when these batches do not tell.
  package func isDecided(
    by newest: some Sequence<MutationBatch>, oldest: MutationBatch, over base: Document
  ) -> Bool {
    // So that writes with other conditions take place no more than before.
    guard base.fields != nil,
      let first = oldest.writes(to: path).first, first.precondition.isPlain,
      first.change != .verify
    else { return false }
    var open: Set<FieldPath>
    switch effect {
    case .patch(let fields, let mask):
      // Where a nested field is deleted depends on the maps around it.
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
          // What a server timestamp lies upon may be of a write that ended.
          return mutation.precondition == .none
            && transforms.allSatisfy {
              $0.operation != .serverTimestamp || stamped.contains($0.field)
            }
        case (.delete, .delete): return mutation.precondition == .none
        case (.set, _), (.delete, _), (_, .delete): return false
        case (.verify, _): return false
        case (.patch(_, let mask, let transforms), _):
          guard mutation.precondition.isPlain else { return false }
          let times = stamped.intersection(transforms.times)
          open = open.filter { !mask.covers($0) && !times.contains($0) }
          if case .patch = effect, open.isEmpty { return true }
        }
      }
    }
    return false
  }

  /// The place that must be taken from the result so that a touched field is as in it.
  ///
  /// It is the field itself when it is there. A field that is gone is deleted; but where the map
  /// around it came with the writes, that map must come too, be it empty.
  private static func place(
    _ field: FieldPath, in result: MapValue, over base: MapValue?
  ) -> FieldPath? {
    var around = result
    for (index, name) in field.names.enumerated() {
      guard let value = around[name] else {
        guard index > 0 else { return FieldPath(unchecked: [name]) }
        let parent = FieldPath(unchecked: Array(field.names[..<index]))
        return base?[parent]?.map == nil ? parent : parent.appending(name)
      }
      if index == field.names.count - 1 { return field }
      // What is no map here was put here by another field's write, or was here before.
      guard let map = value.map else { return nil }
      around = map
    }
    return nil
  }
}
