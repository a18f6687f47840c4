public import ConiferDocument

/// A read, query or write of a user, for which the server asks its ``DocumentAccess``.
public enum DocumentRequest: Sendable, Hashable {
  /// Reads one document, or listens to it: its fields as they are now, nil when it is missing.
  case get(DocumentPath, MapValue?)
  /// Runs a query, listens to it, or computes aggregates of it.
  case list(DocumentTarget)
  /// Changes a document: its fields before, nil when it is missing, and as the whole commit would leave it.
  case write(DocumentPath, before: MapValue?, after: MapValue?)
}

/// The access rules of a server of documents, given as two closures: who a token stands for, and
/// who may do what. They may be called on any thread.
///
/// They return quickly and wait for nobody: nothing else is done in the database meanwhile.
public struct DocumentAccess: Sendable {
  let user: @Sendable (_ token: String) -> DocumentUser?
  let allows: @Sendable (DocumentUser?, DocumentRequest) -> Bool
  /// Whether everybody may do everything.
  let allowsAll: Bool
  /// Whether who shows no token is refused.
  let requiresToken: Bool

  /// Access as two closures.
  ///
  /// - Parameters:
  ///   - user: who a token stands for; nil when it is none of this server's, which is answered
  ///     `unauthenticated`. By default a token is its user's id, and `owner` may do everything.
  ///   - allows: whether somebody, or nobody when it is nil, may do something; false is answered
  ///     `permission-denied`. By default everybody may do everything.
  ///   - requiresToken: whether who shows no token is answered `unauthenticated`, and `allows` not asked. False unless
  ///     told.
  public init(
    user: @escaping @Sendable (_ token: String) -> DocumentUser? = DocumentAccess.anyToken,
    allows: (@Sendable (DocumentUser?, DocumentRequest) -> Bool)? = nil,
    requiresToken: Bool = false
  ) {
    self.user = user
    self.requiresToken = requiresToken
    self.allows = allows ?? { _, _ in true }
    allowsAll = allows == nil
  }

  /// Access for everybody to everything.
  public static let open = DocumentAccess()

  /// Takes each token for its user's id, and `owner` for an administrator, as the vendor's emulator does.
  public static func anyToken(_ token: String) -> DocumentUser? {
    DocumentUser(token, isAdmin: token == "owner")
  }
}
