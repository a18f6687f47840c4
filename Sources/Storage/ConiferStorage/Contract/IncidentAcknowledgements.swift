package import ConiferKeyValue

/// Which reports of writes that were set aside somebody has dealt with, so that they need no care any more.
///
/// They are kept as metadata of the reports' trees, by what the reports say: so they hold in a copy of the store too. The
/// reports themselves stay, since their bytes exist nowhere else.
package struct IncidentAcknowledgements: Sendable {
  /// The name of the metadata: the fingerprints of the reports, eight bytes each.
  private static let name = "conifer.incidents.acknowledged"

  private var known: [TreeID: Set<UInt64>] = [:]

  /// Reads what was acknowledged in a store.
  ///
  /// - Throws: as the view's reads.
  package init(_ view: any StorageView) throws(StoreError) {
    for tree in try view.trees() {
      guard let bytes = try Self.stored(view, tree.id) else { continue }
      known[tree.id] = Self.fingerprints(bytes)
    }
  }

  /// What is stored of a tree; nil when its encryption key is missing, as its reports cannot be read then either.
  private static func stored(
    _ view: any StorageView, _ tree: TreeID
  ) throws(StoreError) -> Bytes? {
    do throws(StoreError) {
      return try view.metadata(tree, name)
    } catch {
      guard error.code == .wrongKey else { throw error }
      return nil
    }
  }

  /// Whether a report is of the kind that somebody has to deal with.
  package static func needs(_ incident: Incident) -> Bool {
    incident.kind == .writeSetAside && incident.tree.rawValue != 0
  }

  /// Whether a report was acknowledged.
  package func contains(_ incident: Incident) -> Bool {
    Self.needs(incident) && known[incident.tree]?.contains(incident.fingerprint) == true
  }

  /// Whether somebody has to deal with a report still.
  package func isOpen(_ incident: Incident) -> Bool {
    Self.needs(incident) && !contains(incident)
  }

  /// The edits that acknowledge some of a store's reports, and how many these are; those that need no care are left out.
  /// What was acknowledged of reports that are gone is forgotten.
  ///
  /// - Parameter isMeant: tells which reports.
  /// - Throws: as the view's reads.
  package func adding(
    in view: any StorageView, where isMeant: (Incident) -> Bool
  ) throws(StoreError) -> (edits: [StorageEdit], count: Int) {
    var (new, there): ([TreeID: Set<UInt64>], [TreeID: Set<UInt64>]) = ([:], [:])
    var count = 0
    try view.forEachIncident { incident in
      guard Self.needs(incident) else { return }
      there[incident.tree, default: []].insert(incident.fingerprint)
      guard !contains(incident), isMeant(incident) else { return }
      new[incident.tree, default: []].insert(incident.fingerprint)
      count += 1
    }
    let edits = new.map { tree, fingerprints in
      let wanted = fingerprints.union(known[tree] ?? []).intersection(there[tree] ?? [])
      return StorageEdit.setMetadata(tree, Self.name, Self.bytes(wanted))
    }
    return (edits, count)
  }

  private static func bytes(_ fingerprints: Set<UInt64>) -> Bytes {
    fingerprints.sorted().flatMap { number in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
  }

  private static func fingerprints(_ bytes: Bytes) -> Set<UInt64> {
    Set(
      stride(from: 0, to: bytes.count - bytes.count % 8, by: 8).map { at in
        bytes[at..<(at + 8)].reduce(0) { $0 << 8 | UInt64($1) }
      })
  }
}

extension Incident {
  /// What a report is known by, also in a copy of its store: a hash of its kind, its place and its bytes.
  package var fingerprint: UInt64 {
    XXHash64.hash(Bytes(kind.rawValue.utf8) + [0] + Bytes(place.utf8) + [0] + bytes, seed: 0)
  }
}
