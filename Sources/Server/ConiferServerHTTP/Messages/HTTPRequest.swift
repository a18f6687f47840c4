/// An HTTP request as a responder sees it, with its complete body.
public struct HTTPRequest: Sendable {
  /// `GET`, `PUT`, `PATCH`, `POST` or `DELETE`, in capital letters. The connection itself answers
  /// `OPTIONS`, and turns `HEAD` into `GET`.
  public var method: String
  /// The path as it was sent, percent-encoded, from the first slash, without the query.
  public var path: String
  /// The query's names and values, percent-decoded, in their order; a name without `=` has an empty
  /// value.
  public var query: [(name: String, value: String)]
  /// The headers, with names in small letters, in their order.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]
  /// The database of the request: a valid name by ``NamespaceName``.
  public var namespace: String

  /// A request.
  public init(
    method: String, path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    namespace: String = NamespaceName.default
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.namespace = namespace
  }

  /// The value of the first header with a name in small letters.
  public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// The value of the first query parameter with a name.
  public func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }
}
