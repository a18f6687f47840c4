#if os(Linux)
  import ConiferKeyValue
  import ConiferLog
  import ConiferStorage
  import StorageConformance
  import Synchronization
  import TestSupport

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A store over the log that treats failing disks in a wrong way.
  final class FlawedOnDisk: ForwardingStore {
    enum Flaw: String, CaseIterable {
      /// Opens itself anew after a failed sync, and goes on as if nothing had been.
      case forgetsPoison
      /// Acknowledges a commit that failed.
      case swallowsErrors
      /// Leaves a file open after an error.
      case leaksDescriptors
      /// Takes an error of the disk for damage.
      case criesDamage
      /// Keeps what is set aside for a full disk to itself.
      case hoardsReserve
    }

    let flaw: Flaw?
    private let directory: String
    private let inner: Mutex<LogStore>
    private let made = Mutex<UInt64>(0)

    init(_ flaw: Flaw?, _ directory: String) throws(StoreError) {
      self.flaw = flaw
      self.directory = directory
      inner = Mutex(try Self.open(flaw, directory))
    }

    private static func open(_ flaw: Flaw?, _ directory: String) throws(StoreError) -> LogStore {
      var options = LogOptions()
      options.segment = 256 << 10
      if flaw == .hoardsReserve { options.reserve = 0 }
      return try LogStore(at: directory, options)
    }

    static func factory(_ flaw: Flaw?) -> BackendFactory {
      BackendFactory(
        name: flaw?.rawValue ?? "honest",
        declared: StoreTraits(
          longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
          isPersistent: true),
        options: StorageOptions(compression: .none, durability: .process), evicts: true
      ) { (directory, options) throws(StoreError) in
        let store = try FlawedOnDisk(flaw, directory)
        do throws(StoreError) {
          return try PackedBackend(store, name: "flawed", options: options)
        } catch {
          try? store.close()
          throw error
        }
      }
    }

    var base: LogStore { inner.withLock { $0 } }

    func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
      let number = made.withLock { made in
        made += 1
        return made
      }
      do throws(StoreError) {
        _ = try base.apply(batch, durability)
      } catch {
        switch flaw {
        case .forgetsPoison where error.code == .io || error.code == .poisoned:
          try? base.close()
          let again = try Self.open(flaw, directory)
          inner.withLock { $0 = again }
          _ = try again.apply(batch, durability)
        case .swallowsErrors: break
        case .leaksDescriptors:
          _ = Glibc.open(directory + "/owner", O_RDONLY)
          throw error
        case .criesDamage: throw StoreError(.damaged, error.message)
        default: throw error
        }
      }
      return CommitID(rawValue: number)
    }

    func harden(_ upTo: CommitID) throws(StoreError) {
      try base.harden(CommitID(rawValue: .max))
    }
    var findings: [StoreFinding] { [] }
    func acknowledgeFindings() throws(StoreError) {}
    func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
  }
#endif
