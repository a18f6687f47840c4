import ConiferStorage
import ConiferWire

extension ConnectionMachine {
  /// Asks the token provider, unless it is being asked.
  mutating func fetchToken() {
    let isForced = auth.mustForce || session != nil
    guard auth.beginFetch(at: now.uptime, isForced: isForced) else { return }
    actions.append(.fetchToken(force: isForced, number: auth.newestFetch))
  }

  /// Asks the token provider anew, as somebody else may be signed in.
  mutating func refreshToken() {
    guard auth.usesTokens else { return }
    auth.beginChange(at: now.uptime)
    actions.append(.fetchToken(force: auth.mustForce, number: auth.newestFetch))
  }

  /// Takes in what the token provider said, asked or unasked.
  mutating func take(_ answer: TokenAnswer, _ fetch: UInt64?) {
    guard auth.usesTokens, auth.counts(answer, fetch) else { return }
    switch answer {
    case .token(let token):
      let isSame = token == auth.token
      auth.take(token, at: now, offset: offset)
      follow(token.identity)
      guard let session else { return proceed() }
      if !(isSame && session.isAccepted) { authenticate(token) }
    case .signedOut:
      let wasNobody = auth.token == nil
      auth.take(nil, at: now, offset: offset)
      if !follow("") { actions.append(.keepToken(nil)) }
      guard let session else { return proceed() }
      if !(wasNobody && session.isAccepted) { authenticate(nil) }
    case .failed(let reason): tokenFailed(reason)
    }
    readOn()
  }

  /// Whether what the app reads waits to know who is signed in.
  var isReadingHeld: Bool { auth.identification == .changing }

  /// Asks for what waited to know who is signed in.
  mutating func readOn() {
    guard session?.isAccepted == true, !isReadingHeld else { return }
    sendListens()
    flush()
  }

  /// Goes on with an attempt to connect that needs no other token.
  private mutating func proceed() {
    switch phase {
    case .fetching: connect()
    case .waiting:
      // What kept the client away may have been the user; the distance after refusals stays.
      if !auth.isSlowed { connect() }
    case .idle, .connecting, .connected: break
    }
  }

  /// Takes in that the token provider failed; silently: that it did not answer in time.
  mutating func tokenFailed(_ reason: String, silently isSilent: Bool = false) {
    var isBlocking = false
    switch phase {
    case .fetching: isBlocking = !auth.canUseLast(at: now, offset: offset)
    // Asked without a connection, to know whose the first writes are, which wait for it.
    case .idle: isBlocking = isSilent && auth.token == nil
    case .waiting, .connecting, .connected: break
    }
    let delay = max(limits.firstDelay, backoff.delay(auth.failures))
    auth.noteFailure(reason, retry: now.uptime.adding(delay), isBlocking: isBlocking)
    actions.append(.noted("The token provider failed: \(reason)"))
    guard case .fetching = phase else { return }
    if isBlocking {
      retry()
    } else {
      connect()
    }
  }

  /// Shows the server a token, or that nobody is signed in.
  mutating func authenticate(_ token: AuthToken?) {
    let request: Request = token.map { .authenticate($0.credential) } ?? .unauthenticate
    let number = send(request, .authenticate(token))
    session?.authRequest = number
  }

  /// Takes in the answer to a shown token.
  mutating func authAnswered(_ number: UInt64, _ token: AuthToken?, _ response: Response) {
    guard session?.authRequest == number else { return }
    session?.authRequest = nil
    guard response.status == .ok || token == nil else {
      return refuse(response.status, response.reason ?? response.status.rawValue)
    }
    auth.noteTaken(at: now.uptime)
    if let token { actions.append(.keepToken(token)) }
    if session?.isAccepted == false { establish() }
  }

  /// The server knows who the client is: all that waited goes on.
  mutating func establish() {
    session?.standing = .accepted(sendsWrites: false)
    settleOtherLanes()
    sendListens()
    sendGets()
    restartQueue()
    actions.append(.writable(true))
    askForWrites()
  }

  /// The server does not take the token, or no longer does: all but the connection waits.
  mutating func refuse(_ status: Response.Status, _ reason: String) {
    pause()
    let delay = backoff.delay(0)
    auth.noteRefusal(status, reason, at: now.uptime, delay: delay)
    actions.append(.noted("The server does not take the token: \(status) \(reason)"))
    if let due = auth.fetchAt, due <= now.uptime { fetchToken() }
  }

  /// The token's time is over, as far as the client knows.
  mutating func expireToken() {
    auth.noteExpiry(at: now.uptime)
    guard session?.isAccepted == true else { return }
    pause()
  }

  /// Lets everything wait for a token.
  mutating func pause() {
    let wasAccepted = session?.isAccepted == true
    session?.standing = .refused
    if wasAccepted { stopSending() }
  }

  /// Notes that nothing goes out from now on.
  mutating func stopSending() {
    session?.setSendsWrites(false)
    unreadableSince = now.uptime
    actions.append(.writable(false))
    returnPuts()
  }

  /// Whether a refusal says no more than that the token is not taken, so that it does not count.
  mutating func isDueToToken(_ response: Response) -> Bool {
    guard auth.token != nil else { return false }
    switch response.status {
    case .expiredToken, .invalidToken:
      if session?.authRequest != nil {
        // A newer token is being shown: its answer decides.
        pause()
      } else if session?.isAccepted == true {
        refuse(response.status, response.reason ?? response.status.rawValue)
      }
      return true
    case .permissionDenied: return session?.isRefused == true
    default: return false
    }
  }

  /// Changes to the lane of an identity: what was issued under another one is not sent as this one's.
  ///
  /// - Returns: whether it is another one.
  @discardableResult
  private mutating func follow(_ identity: String) -> Bool {
    let next = Lane(tree: lane.tree, identity: identity)
    guard next != lane else { return false }
    // First, so that no transaction that a held answer lets go is issued as the new user's.
    if session?.isAccepted == true {
      session?.standing = .unknown
      stopSending()
    }
    releaseHeld(all: true)
    lane = next
    isLaneOpen = false
    newest = 0
    step = 0
    queue.restart()
    giveUpOperations(with: .identityChanged)
    // The next start must not show the old user's token.
    actions.append(.keepToken(nil))
    actions.append(.laneChanged(next))
    return true
  }

  /// Takes in the newest number of the lane, behind which all that waits has its place.
  mutating func laneOpened(_ id: WriteID?) {
    newest = id?.rawValue ?? 0
    perhapsSent = newest
    step = 0
    var places: [OverlayID] = []
    for _ in operations.all { places.append(nextPlace()) }
    let lane = self.lane
    var next = places.makeIterator()
    operations.changeAll { operation in
      operation.place = next.next() ?? operation.place
      operation.lane = lane
    }
    isLaneOpen = true
    askForWrites()
  }
}
