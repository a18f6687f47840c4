import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferWire

/// Whether the network is used: the app wants it, there is a way to a server, and the storage takes in what comes.
final class NetworkUse {
  private let transport: DocumentTransport?
  /// Tells when the network may have returned.
  private var watch: (any NetworkWatch)?
  private let returned: @Sendable () -> Void
  private var isWanted = true
  private var isSuspended = false
  private var hasEnded = false
  /// Whether writes and requests are sent.
  private(set) var isUsed = false
  /// Whether the server is listened to, too: not while a full disk takes nothing that it says.
  private var isListening = false
  private let listening: Listening
  private let sending: WriteSending
  private let recovery: StorageRecovery
  /// What an authority in this process is handed over is sent whatever the app wants.
  private let handOver: HandOver

  /// - Parameter returned: called when the network may have returned, on any thread.
  init(
    _ transport: DocumentTransport?, _ listening: Listening, _ sending: WriteSending,
    _ recovery: StorageRecovery, _ handOver: HandOver, returned: @escaping @Sendable () -> Void
  ) {
    self.transport = transport
    self.returned = returned
    self.listening = listening
    self.sending = sending
    self.recovery = recovery
    self.handOver = handOver
  }

  private var hasServer: Bool { transport != nil }

  /// The storage is open.
  func begin() {
    watch = transport?.watchNetwork(returned)
    // Without a server, listeners get the cached documents now, because nothing else will come.
    if !hasServer { listening.setEnabled(false) }
    update()
  }

  /// The app lets the network be used, or not.
  func setWanted(_ isWanted: Bool) {
    guard isWanted != self.isWanted else { return }
    self.isWanted = isWanted
    let wasListening = isListening
    update()
    // The network was not used before either, but listeners learn now that the app has turned it
    // off.
    if !isWanted, !wasListening { listening.setEnabled(false) }
  }

  /// The storage is about to be suspended, or is open again. Listeners are not told that they are offline meanwhile.
  func setSuspended(_ isSuspended: Bool) {
    self.isSuspended = isSuspended
    update(meanwhile: .unknown)
  }

  /// Uses the network, or stops doing so, as things are now.
  ///
  /// - Parameter state: whether the server counts as out of reach when the network is left.
  func update(meanwhile state: OnlineState = .offline) {
    let takesIn = !recovery.isBlocked && !sending.hasUnstored && !sending.hasInDoubtCommits
    let mayUse =
      hasServer && (isWanted || handOver.isUnderWay) && !isSuspended && !hasEnded && takesIn
    set(mayUse, listens: mayUse && !recovery.blocksListens, state)
  }

  private func set(_ isUsed: Bool, listens isListening: Bool, _ state: OnlineState) {
    let (wasUsed, wasListening) = (self.isUsed, self.isListening)
    (self.isUsed, self.isListening) = (isUsed, isListening)
    if isListening != wasListening { listening.setEnabled(isListening, meanwhile: state) }
    if isUsed != wasUsed { sending.setEnabled(isUsed) }
  }

  /// Does something while the network is not used, and then uses it again if it may be used.
  ///
  /// Listeners hear that they are offline if the network is not used afterwards.
  ///
  /// - Throws: what the closure throws; the network is not used then.
  func pause(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    let wasListening = isListening
    set(false, listens: false, .unknown)
    defer { if wasListening, !isListening { listening.setEnabled(false) } }
    try body()
    update()
  }

  /// The engine ends: the streams are closed, and it is noted which writes may have reached the server.
  func end() {
    hasEnded = true
    (isUsed, isListening) = (false, false)
    watch?.stop()
    watch = nil
    listening.watch.close()
    sending.setEnabled(false)
  }
}
