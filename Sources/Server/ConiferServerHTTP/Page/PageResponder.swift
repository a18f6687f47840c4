public import ConiferDocumentServer
import ConiferKeyValue
import ConiferQuery
public import ConiferServer
import ConiferTree

/// A responder with the page at `/` that shows a server's databases to developers and edits them,
/// and with its endpoints below `/.conifer/`.
///
/// The page writes by REST as the administrator, so a REST responder must be in the list too, and one
/// of documents where the page shows them. Its own endpoints only read, and refuse other websites of
/// the same browser.
public struct PageResponder: HTTPResponder {
  private let routes: PageRoutes

  /// The page of a server.
  ///
  /// - Parameters:
  ///   - server: the server to show.
  ///   - defaultNamespace: the database that is shown first.
  ///   - hostNames: names beside `localhost` and addresses under which the page may be served, or
  ///     origins of these.
  ///   - bearers: how an `Authorization: Bearer` header is verified, as for REST: by default by the
  ///     authenticator. Only an administrator sees the data, whatever the rules say.
  ///   - documents: the server whose databases of documents the page shows too; nil for none. What may be read and
  ///     written there is what its access allows to the token.
  public init(
    _ server: Server, defaultNamespace: String = NamespaceName.default, hostNames: [String] = [],
    bearers: RESTConfiguration.Bearers = .verified, documents: DocumentServer? = nil
  ) {
    let rest = RESTResponder(server, RESTConfiguration(bearers: bearers))
    routes = PageRoutes(
      source: ServerPage(
        server: server, first: defaultNamespace, documents: documents.map(PageDatabases.init)),
      guardian: PageGuard(names: hostNames),
      isAdministrator: { request in
        guard request.header("authorization") != nil else { return false }
        do throws(RESTRefusal) {
          return try rest.caller(of: request)?.isAdmin == true
        } catch {
          return false
        }
      })
  }

  /// Answers `/` and what is below `/.conifer/`.
  public func respond(to request: HTTPRequest) async -> HTTPResponse? {
    routes.respond(to: request)
  }
}

/// A server's databases for the page.
struct ServerPage: PageSource {
  let server: Server
  let first: String
  var documents: PageDatabases?

  func facts() throws -> PageFacts {
    var spaces = server.namespaces
    if !spaces.contains(first) { spaces.insert(first, at: 0) }
    let databases = try documents?.names()
    return PageFacts(
      title: "Conifer server", isWritable: true, spaces: spaces, first: first,
      begins: shownFirst(databases ?? []),
      spaceWord: documents == nil ? "Namespace" : "Database",
      tables: [("clients", "Clients")], databases: databases)
  }

  /// The default namespace; while it is empty, the first one that has data, or the first database of documents.
  private func shownFirst(_ databases: [String]) -> String {
    func hasData(_ space: String) -> Bool { !server.data(in: space).isEmpty }
    if hasData(first) { return first }
    return server.namespaces.first(where: hasData) ?? databases.first ?? first
  }

  func pulse(of space: String) throws -> PagePulse {
    let databaseCount = try documents?.names().count ?? 0
    if let documents, PageDatabases.isDatabase(space) {
      return PagePulse(
        now: server.clock.now, version: documents.version,
        spaceCount: server.namespaces.count + databaseCount)
    }
    let report = server.inspect(
      try Self.checked(space), InspectionLimits(sessions: 0, listens: 0, pending: 0))
    let traffic = report.traffic
    return PagePulse(
      now: report.now, version: traffic.changes,
      spaceCount: server.namespaces.count + databaseCount,
      counts: [
        ("sessions", report.sessionCount), ("listens", report.listenCount),
        ("requests", traffic.requests), ("pushes", traffic.pushes),
        ("received", traffic.receivedBytes), ("sent", traffic.sentBytes),
        ("leaves", report.leafCount), ("bytes", report.estimatedSize),
      ])
  }

  func windows(_ wanted: [PageWindow.Wanted], in space: String) throws -> [PageWindow] {
    let root = server.moment(of: try Self.checked(space)).root
    return wanted.map { PageWindow(root[$0.path], limit: $0.limit) }
  }

  func table(_ name: String, in space: String, limit: Int) throws -> PageTable? {
    guard name == "clients" else { return nil }
    let report = server.inspect(try Self.checked(space), InspectionLimits(sessions: limit))
    var table = PageTable(
      now: report.now, columns: ["session", "who", "since", "listens", "at its end"],
      empty: "No client is connected.")
    table.hasMore = report.sessionCount > report.sessions.count
    table.rows = report.sessions.map { session in
      let listens = session.listens.map { listen in
        PageTable.Cell.place(
          listen.target.path,
          [listen.target.spec.words, listen.tag.map { "tag \($0)" } ?? ""]
            .filter { !$0.isEmpty }.joined(separator: ", "))
      }
      let pending = session.pending.map { PageTable.Cell.place($0.path, $0.kind.words) }
      return [
        .number(Int(clamping: session.id)), .text(Self.who(session)), .time(session.since),
        .list(listens, of: session.listenCount),
        .list(pending, of: session.hasMorePending ? nil : pending.count),
      ]
    }
    return table
  }

  func export(_ path: Path, in space: String, pretty: Bool) throws -> [UInt8] {
    server.moment(of: try Self.checked(space)).root[path].json(.export, pretty: pretty)
  }

  private static func who(_ session: SessionReport) -> String {
    if session.isAdmin { return "administrator" }
    return session.uid ?? "nobody"
  }

  /// Checks that a name is valid for a database.
  private static func checked(_ name: String) throws(PageRefusal) -> String {
    guard NamespaceName.isValid(name) else {
      throw PageRefusal(
        400, "A namespace has 1 to 100 letters, digits, hyphens and underscores.")
    }
    return name
  }
}

extension PendingReport.Kind {
  fileprivate var words: String {
    switch self {
    case .set: "set"
    case .setByServer: "set by the server"
    case .remove: "remove"
    }
  }
}
