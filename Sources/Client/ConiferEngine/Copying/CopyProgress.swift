/// How far a copy is: in values, which are the leaves of the data, or in documents.
public struct CopyProgress: Hashable, Sendable {
  /// How many there are to copy.
  public package(set) var total: Int
  /// How many the other database's server has acknowledged.
  public package(set) var copied: Int
  /// How many were left out, as the server had data there.
  public package(set) var kept: Int

  /// So much of a copy.
  package init(total: Int, copied: Int = 0, kept: Int = 0) {
    self.total = total
    self.copied = copied
    self.kept = kept
  }
}

/// What a copy does where the other database has data already; what counts as that is said by the call that copies.
public enum ExistingData: Hashable, Sendable {
  /// It stays.
  case keep
  /// What is copied replaces it where it stands; what the other database has beside that stays.
  case replace
}
