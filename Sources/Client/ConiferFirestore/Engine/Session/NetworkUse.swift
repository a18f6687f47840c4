import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue

/// Whether the network is used: the app wants it, there is a way to a server, and the storage takes in what comes.
final class NetworkUse {
  private let hasServer: Bool
  private var isWanted = true
  private var hasEnded = false
  private(set) var isUsed = false
  private let listening: Listening
  private let sending: WriteSending
  private let recovery: StorageRecovery

  init(
    hasServer: Bool, _ listening: Listening, _ sending: WriteSending, _ recovery: StorageRecovery
  ) {
    self.hasServer = hasServer
    self.listening = listening
    self.sending = sending
    self.recovery = recovery
  }

  /// The storage is open.
  func begin() {
    // Listeners are told what is here when nothing else will come.
    if !hasServer { listening.setEnabled(false) }
    update()
  }

  /// The app lets the network be used, or not.
  func setWanted(_ isWanted: Bool) {
    guard isWanted != self.isWanted else { return }
    self.isWanted = isWanted
    let wasUsed = isUsed
    update()
    // It was not used before, but listeners are told now that the app wants it off.
    if !isWanted, !wasUsed { listening.setEnabled(false) }
  }

  /// Uses the network, or stops doing so, as things are now.
  ///
  /// - Parameter state: whether the server counts as out of reach when the network is left.
  func update(meanwhile state: OnlineState = .offline) {
    let mayUse = hasServer && isWanted && !hasEnded && !recovery.isBlocked && !sending.hasUnstored
    guard mayUse != isUsed else { return }
    set(mayUse, state)
  }

  private func set(_ isUsed: Bool, _ state: OnlineState) {
    self.isUsed = isUsed
    listening.setEnabled(isUsed, meanwhile: state)
    sending.setEnabled(isUsed)
  }

  /// Does something while the network is not used, and uses it again as things are then.
  ///
  /// - Throws: what the closure throws; the network is not used then.
  func pause(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    if isUsed { set(false, .unknown) }
    try body()
    update()
  }

  /// The engine ends: the streams are closed, and it is noted which writes may have reached the server.
  func end() {
    hasEnded = true
    isUsed = false
    listening.watch.close()
    sending.setEnabled(false)
  }
}
