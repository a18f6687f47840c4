import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import TestSupport

extension ConnectionWorld {
  /// The server handles the next message.
  mutating func serve() {
    guard connection != nil, !toServer.isEmpty else { return }
    guard case .request(let number, let request) = toServer.removeFirst() else { return }
    toClient.append(.response(number, response(to: request)))
  }

  private mutating func response(to request: Request) -> Response {
    switch request {
    case .authenticate(let credential):
      let parts = credential.token.split(separator: "#")
      let number = parts.last.flatMap { Int($0) } ?? 0
      guard number >= validFrom else {
        isExpired = true
        return Response(.expiredToken)
      }
      if !isCalm, chance.one(in: 12) { return Response(.permissionDenied) }
      served = String(parts.first ?? "")
      isExpired = false
      return .ok
    case .unauthenticate:
      served = ""
      isExpired = false
      return .ok
    case .put(let path, _, _):
      guard let id = writeID(path) else { return .ok }
      if isExpired { return Response(chance.one(in: 2) ? .permissionDenied : .expiredToken) }
      if served != id.lane.identity { fail("write \(id) came from \(served)") }
      if !isCalm, chance.one(in: 10) { return Response(.permissionDenied) }
      applied[id, default: 0] += 1
      return .ok
    default: return isExpired ? Response(.permissionDenied) : .ok
    }
  }

  /// The client gets the next message.
  mutating func deliver() {
    guard let connection, !toClient.isEmpty else { return }
    let message = toClient.removeFirst()
    switch message {
    case .hello:
      isGreeted = true
      if machine.lane.identity.isEmpty { confirmed = "" }
    case .push(.authRevoked): confirmed = nil
    case .response(let number, let response):
      if response.status == .expiredToken { confirmed = nil }
      if let request = authRequest, request.number == number {
        authRequest = nil
        confirmed = response.status == .ok ? request.identity : nil
      }
      flyingListens.remove(number)
      flyingPuts[number] = nil
      land(number, response)
    default: break
    }
    give(.event(.message(message), connection))
  }

  /// Notes that the answer to a request came; whether it counts as one is the client's business.
  private mutating func land(_ number: UInt64, _ response: Response) {
    if let id = flying.removeValue(forKey: number) {
      if response.status == .ok { answered[id] = lastRequest } else { denied[id] = lastRequest }
    }
    if let id = flyingOperations.removeValue(forKey: number), let operation = operations[id],
      operation.lane != machine.lane
    {
      waitAgain(id)
    }
  }
}
