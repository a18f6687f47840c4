import ConiferQuery
import ConiferTree
import ConiferWire

extension ConnectionMachine {
  /// Sends a request; its answer is waited for when something is to be done about it.
  @discardableResult
  mutating func send(_ request: Request, _ sent: Sent? = nil) -> UInt64 {
    let number = (session?.lastRequest ?? 0) + 1
    note(number, sent)
    actions.append(.send(.request(number, request)))
    return number
  }

  /// Notes that a request leaves.
  mutating func note(_ number: UInt64, _ sent: Sent?) {
    session?.lastRequest = number
    session?.lastSent = now.uptime
    if let sent { session?.unanswered.add(number, sent, at: now.uptime) }
  }

  mutating func receive(_ response: Response, to number: UInt64) {
    guard let sent = session?.unanswered.remove(number) else { return }
    switch sent {
    case .authenticate(let token): authAnswered(number, token, response)
    case .listen(let listen): listenAnswered(number, listen, response)
    case .write(let write): answered(write, response)
    case .operation(let operation): answered(operation, response)
    case .get(let get):
      if response.status != .ok, isDueToToken(response) {
        giveBack(get)
      } else {
        actions.append(.getAnswered(get.id, response))
      }
    }
    if case .authenticate = sent {
    } else if session?.isAccepted == true, session?.authRequest == nil {
      auth.noteTrusted()
    }
    flush()
  }

  mutating func receive(_ push: Push) {
    switch push {
    case .overwrite, .merge, .rangeMerge: actions.append(.pushed(push))
    case .listenRevoked(let path, let spec): revoke(path, spec)
    case .authRevoked(let status, let reason):
      guard auth.token != nil else { break }
      if session?.authRequest == nil {
        refuse(status, reason)
      } else {
        // A newer token is being shown: its answer decides.
        pause()
      }
    case .appCheckRevoked(let status, let reason):
      actions.append(.noted("The server does not take the app's token: \(status) \(reason)"))
    case .debug(let words): actions.append(.noted("The server says: \(words)"))
    }
  }

  /// Hands an answer on, now or when the listens before it are answered.
  mutating func hold(_ about: HeldAnswer.About, _ response: Response) {
    held.append(HeldAnswer(about: about, response: response, after: session?.lastRequest ?? 0))
    releaseHeld()
  }

  /// Marks the held answers about whose data listens of a broken connection were to tell.
  mutating func markEarly(_ session: Session) {
    guard !held.isEmpty else { return }
    let listens = session.unanswered.listenTargets
    held.changeAll { answer in
      guard answer.response.status == .ok else { return }
      let paths: [Path]
      switch answer.about {
      case .write(_, let all): paths = all
      case .put(_, let path): paths = [path]
      }
      let after = answer.after
      answer.isEarly = listens.contains { number, target in
        number <= after
          && paths.contains { $0.contains(target.path) || target.path.contains($0) }
      }
    }
  }

  /// Hands answers on whose time has come, in the order in which they came.
  mutating func releaseHeld(all: Bool = false) {
    while let first = held.first {
      if !all, let listen = session?.unanswered.oldestListen, listen <= first.after { return }
      held.popFirst()
      switch first.about {
      case .write(let id, _):
        actions.append(.writeAnswered(id, first.response, isEarly: first.isEarly))
      case .put(let id, _):
        actions.append(.putAnswered(id, first.response, isEarly: first.isEarly))
      }
    }
  }
}
