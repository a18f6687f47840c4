import ConiferDocument
import ConiferWire

/// The caller of a stream or a request.
struct Caller: Sendable {
  /// Whether a token was shown.
  let hasToken: Bool
  /// Who it stands for; nil for nobody.
  let user: DocumentUser?
  /// Whether the server itself asks, which may do everything.
  let isServer: Bool

  /// The server itself.
  static let server = Caller(hasToken: false, user: nil, isServer: true)

  private init(hasToken: Bool, user: DocumentUser?, isServer: Bool) {
    self.hasToken = hasToken
    self.user = user
    self.isServer = isServer
  }

  /// Who a token stands for.
  ///
  /// - Throws: `unauthenticated` when it is none of the server's, or has expired; also without one where the access
  ///   requires a token.
  init(_ token: String?, _ access: DocumentAccess, now: Timestamp) throws(StatusError) {
    guard let token else {
      if access.requiresToken { throw Self.unknown }
      self.init(hasToken: false, user: nil, isServer: false)
      return
    }
    guard let user = access.user(token) else {
      throw StatusError(.unauthenticated, "The token is none of this server's. Get another one.")
    }
    self.init(hasToken: true, user: user, isServer: false)
    if isExpired(at: now) { throw Self.expired }
  }

  private static let unknown = StatusError(
    .unauthenticated,
    "A token is missing: this server's documents are for those who show one. Sign in.")

  /// Why streams and requests with an old token end.
  static let expired = StatusError(
    .unauthenticated, "The token has expired. Get another one, and open the stream with it.")

  func isExpired(at now: Timestamp) -> Bool { user?.expires.map { $0 <= now } ?? false }

  func may(_ request: DocumentRequest, _ access: DocumentAccess) -> Bool {
    isServer || user?.isAdmin == true || access.allows(user, request)
  }

  /// - Throws: `permissionDenied` unless the caller may see and remove everything. Closures cannot
  ///   decide on lists of collections, so only administrators may list where closures decide.
  func requireListing(_ access: DocumentAccess) throws(StatusError) {
    guard isServer || user?.isAdmin == true || access.allowsAll else {
      throw StatusError(
        .permissionDenied, "Only an administrator may do this. Show an administrator's token.")
    }
  }

  /// - Throws: `permissionDenied` when the access does not allow the request.
  func require(_ request: DocumentRequest, _ access: DocumentAccess) throws(StatusError) {
    guard may(request, access) else {
      throw StatusError(
        .permissionDenied, "The server's rules do not allow this. Sign in as somebody who may.")
    }
  }
}
