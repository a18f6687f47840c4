package import ConiferDocument

extension DatabaseID {
  /// The database that a tree of documents holds: `projects/P/databases/D`, or the default one of a project when the
  /// name has no slash; nil for other names.
  package init?(tree name: String) {
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    switch parts.count {
    case 1 where !name.isEmpty: self.init(project: name)
    case 4
    where parts[0] == "projects" && parts[2] == "databases" && !parts[1].isEmpty
      && !parts[3].isEmpty:
      self.init(project: parts[1], database: parts[3])
    default: return nil
    }
  }
}
