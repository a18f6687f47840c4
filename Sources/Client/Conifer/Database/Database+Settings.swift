import ConiferStorage
public import Dispatch

// Settings as the Apple SDK has them. Changes after the first use have no effect and are logged as
// errors; reading a setting gives the value in use.
extension Database {
  /// Whether data and queue are kept in the configuration's storage rather than in memory; with
  /// `ConiferKit`, in the app's directory where the configuration names none.
  public var isPersistenceEnabled: Bool {
    get {
      let configuration = configuration
      let hasStorage = configuration.storage != nil || configuration.standardStorage != nil
      return (configuration.isPersistenceEnabled ?? true) && hasStorage
    }
    set { configure("isPersistenceEnabled") { $0.isPersistenceEnabled = newValue } }
  }

  /// The most bytes that the cache takes, at least 1 MB; `UInt.max` for no limit.
  public var persistenceCacheSizeBytes: UInt {
    get { configuration.options.budget.map { UInt(clamping: $0) } ?? .max }
    set {
      configure("persistenceCacheSizeBytes") { configuration in
        configuration.options.budget = newValue == .max ? nil : Int(clamping: newValue)
      }
    }
  }

  /// The queue on which the app's blocks run, one after the other.
  public var callbackQueue: DispatchQueue {
    get { configuration.callbackQueue.queue }
    set { configure("callbackQueue") { $0.callbackQueue = .queue(newValue) } }
  }
}
