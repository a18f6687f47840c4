import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

extension Engine {
  /// The name under which the last token stands in the tree's metadata.
  static let tokenName = "conifer.token"

  /// The name under which it stands there that somebody signed in or out, and nobody has said who.
  static let changeName = "conifer.change"

  /// Asks the app for a token, off the engine's thread.
  func fetchToken(force: Bool, _ number: UInt64) {
    guard let provider = setup.tokenProvider else { return tell(.token(.signedOut, fetch: number)) }
    let question = Task.detached { [weak self] in
      let answer: TokenAnswer
      do {
        answer = TokenAnswer(try await provider.token(forcingRefresh: force))
      } catch {
        answer = .failed("\(error)")
      }
      self?.post(
        .ask { engine in
          engine.identity.ended(number)
          engine.tell(.token(answer, fetch: number))
        })
    }
    identity.began(question, number)
  }

  /// It is known who is signed in, or no longer: what waited for that comes next.
  func identify(_ identification: Identification) {
    switch identification {
    case .known: identity.known()
    case .starting, .changing: identity.asked()
    case .unanswered: identity.unanswered()
    }
  }

  /// Stores that somebody signed in or out, or that it is known who: the last user may not be the one at
  /// the next start.
  func storeChange(_ isChanging: Bool) {
    guard let lane, identity.storeChange(isChanging) else { return }
    add([.setMetadata(lane.tree, Self.changeName, isChanging ? [1] : nil)]) { [self] result in
      guard case .failure(let error) = result else { return }
      identity.changeNotStored()
      setup.logger.error("the sign-in is not kept", metadata: ["cause": "\(error)"])
    }
  }

  /// Keeps the last token for the next start, where the app wants that.
  func keep(_ token: UserToken?) {
    guard let lane else { return }
    let bytes = setup.keepsLastToken ? token.map(\.stored) : nil
    add([.setMetadata(lane.tree, Self.tokenName, bytes)]) { [self] result in
      guard case .failure(let error) = result else { return }
      setup.logger.error("the last token is not kept", metadata: ["cause": "\(error)"])
    }
  }

  func setAuthState(_ state: Authentication) {
    let identity = link.machine?.lane.identity ?? ""
    func expired(_ code: DatabaseError.Code, _ words: String) -> AuthState {
      .expired(identity: identity, DatabaseError(code, words))
    }
    switch state {
    case .signedOut: authState.set(.signedOut)
    case .pending: authState.set(.known(identity: identity))
    case .authenticated:
      authState.set(.signedIn(identity: identity))
      listenToRefusedPins()
    case .blocked(.expired(let words)): authState.set(expired(.expiredToken, words))
    case .blocked(.refused(let words)): authState.set(expired(.invalidToken, words))
    case .blocked(.unavailable(let words)): authState.set(expired(.unavailable, words))
    }
  }

  /// Another user is signed in: views show the server's data first, then that user's queue over it.
  func changeLane(_ lane: Lane) {
    guard let backend else { return }
    giveUpTransactions(.identityChanged)
    let reverted = tree.revertAll()
    writes.hideAll()
    queuedValues = nil
    phase = .open(backend, lane)
    raise(reverted)
    let (now, paths) = (serverTime, Set(views.paths))
    let found = read { (view, lane) throws(StoreError) in
      var overlay = QueueOverlay(view, lane, now: now)
      let entries = try overlay.entries(touching: Array(paths)).filter { !hasEnded($0.id, lane) }
      return (entries, try view.totals(lane).newest)
    }
    for entry in found?.0 ?? [] {
      _ = writes.show(OutboundWriteID(lane, entry.id))
      raise(tree.write(entry.id, entry.changes))
    }
    tell(.laneOpened(newest: found?.1))
    listenToRefusedPins()
  }
}

extension TokenAnswer {
  fileprivate init(_ token: AuthToken?) {
    guard let token else {
      self = .signedOut
      return
    }
    guard (1...Lane.longestIdentity).contains(token.identity.utf8.count),
      !token.identity.utf8.contains(0)
    else {
      self = .failed("The token's identity is not 1 to \(Lane.longestIdentity) UTF-8 bytes.")
      return
    }
    self = .token(
      UserToken(Credential(token.token), identity: token.identity, expiry: token.expiry)
    )
  }
}

extension UserToken {
  /// The token as it is kept.
  fileprivate var stored: [UInt8] {
    var children: [(Key, Node)] = [
      ("token", Node(.string(credential.token))), ("identity", Node(.string(identity))),
    ]
    if let expiry { children.append(("expiry", Node(.integer(expiry)))) }
    return Node(children: children).json()
  }

  /// Reads what was kept; nil when it makes no sense.
  init?(stored: [UInt8]) {
    guard let node = try? Node(json: stored), case .string(let token)? = node[Key("token")].leaf,
      case .string(let identity)? = node[Key("identity")].leaf, !identity.isEmpty
    else { return nil }
    var expiry: Int64?
    if case .integer(let number)? = node[Key("expiry")].leaf { expiry = number }
    self.init(Credential(token), identity: identity, expiry: expiry)
  }
}
