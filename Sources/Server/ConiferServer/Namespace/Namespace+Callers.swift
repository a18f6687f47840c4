import ConiferQuery
import ConiferTree
import ConiferWire

extension Namespace {
  /// Whether a caller without a session may read. Where indexes are declared, a query needs one,
  /// even when it has only an order.
  ///
  /// - Returns: the answer without its data, and all data to evaluate the query on.
  mutating func admit(
    _ target: QueryTarget, as token: VerifiedToken?, now: Int64
  ) -> (response: Response, root: Node) {
    let context = AccessContext(auth: token, root: root, now: now)
    return (admit(target, context, isStrict: true), root)
  }

  /// The outputs after a read that did not go through the input queue.
  mutating func takeOutputs() -> [Output] {
    defer { outputs = [] }
    return outputs
  }

  /// Performs the request of a caller without a session.
  mutating func perform(
    _ request: Request, _ number: UInt64, as token: VerifiedToken?, limit: Int?, now: Int64
  ) {
    let origin = Origin.caller(number, token)
    switch request {
    case .get(let target):
      var (response, root) = admit(target, as: token, now: now)
      if response.status == .ok { response.node = target.spec.filtered(root[target.path]) }
      outputs.append(.performed(number, response, []))
    case .put, .merge:
      if let write = PendingWrite(request, origin, limit: limit) { self.write(write, now: now) }
    default:
      let answer = Response(.failure, reason: "The request needs a session. Connect first.")
      outputs.append(.performed(number, answer, []))
    }
  }

  /// Sets a session's user from a verified token.
  mutating func adopt(_ token: VerifiedToken?, of id: SessionID, now: Int64) {
    guard sessions[id] != nil else { return }
    sessions[id]?.setUser(token)
    if let expires = token?.expires { outputs.append(.wake(expires)) }
    recheckListens(of: id, now: now)
  }
}
