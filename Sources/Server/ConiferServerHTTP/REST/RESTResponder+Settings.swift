import ConiferServer
import ConiferTree
import ConiferWire

extension RESTResponder {
  /// Reads or replaces the rules; there are no other settings.
  func settings(_ request: HTTPRequest) async throws(RESTRefusal) -> HTTPResponse {
    let namespace = request.namespace
    guard request.path == "/.settings/rules.json" else {
      throw RESTRefusal(404, "There is no such setting. The only one is rules.json.")
    }
    // While everybody may read and write all data, everybody may set the rules; otherwise only an
    // administrator.
    guard try caller(of: request)?.isAdmin == true || server.isOpen(namespace) else {
      throw RESTRefusal(401, "Permission denied")
    }
    switch try method(of: request) {
    case "GET":
      let isStrict = request.parameter("format") == "strict"
      return .json(server.rulesSource(in: namespace, strict: isStrict))
    case "PUT":
      let answer: Response
      do throws(RulesError) {
        answer = try await server.storeRules(json: request.body, in: namespace)
      } catch {
        throw RESTRefusal(400, "\(error)")
      }
      guard answer.status == .ok else { throw RESTRefusal(answer) }
      return .json(Array(#"{"status":"ok"}"#.utf8))
    default:
      throw RESTRefusal(405, "The method must be GET or PUT: rules can be read and replaced.")
    }
  }
}
