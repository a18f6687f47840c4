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
      guard let bytes = try view.metadata(tree.id, Self.name) else { continue }
      known[tree.id] = Self.fingerprints(bytes)
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

  /// The edits that acknowledge some reports; those that need none are left out.
  ///
  /// - Parameter all: the store's reports: what was acknowledged of others is forgotten.
  package func adding(_ incidents: [Incident], of all: [Incident]) -> [StorageEdit] {
    let new = incidents.filter { Self.needs($0) && !contains($0) }
    return Set(new.map(\.tree)).map { tree in
      let there = Set(all.filter { $0.tree == tree && Self.needs($0) }.map(\.fingerprint))
      let wanted = Set(new.filter { $0.tree == tree }.map(\.fingerprint)).union(known[tree] ?? [])
      return .setMetadata(tree, Self.name, Self.bytes(wanted.intersection(there)))
    }
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
