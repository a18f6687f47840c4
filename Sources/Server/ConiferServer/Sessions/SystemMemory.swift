import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Returns released memory to the system.
enum SystemMemory {
  /// The number of released bytes from which returning them is worth the time.
  static var releaseThreshold: Int { 64 << 20 }

  private static let isAsked = Mutex(false)
  private static let queue = DispatchQueue(label: "conifer.memory", qos: .utility)

  /// Returns released memory soon: glibc keeps memory that its many threads released. Other
  /// allocators return it themselves.
  static func returnReleased() {
    #if canImport(Glibc)
      let isFirst = isAsked.withLock { isAsked in
        defer { isAsked = true }
        return !isAsked
      }
      guard isFirst else { return }
      // Memory that was released in the accounts is freed a moment later.
      queue.asyncAfter(deadline: .now() + .seconds(1)) {
        isAsked.withLock { $0 = false }
        _ = trim?(0)
      }
    #endif
  }

  #if canImport(Glibc)
    /// `malloc_trim`, which Swift's Glibc module does not have.
    private static let trim: (@convention(c) (Int) -> Int32)? = {
      guard let symbol = dlsym(nil, "malloc_trim") else { return nil }
      return unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)
    }()
  #endif
}
