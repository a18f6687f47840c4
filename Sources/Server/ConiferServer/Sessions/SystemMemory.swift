import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The memory that the process has from the system.
enum SystemMemory {
  /// How many bytes must have been released before giving them back is worth the time.
  static var worth: Int { 64 << 20 }

  private static let isAsked = Mutex(false)
  private static let queue = DispatchQueue(label: "conifer.memory", qos: .utility)

  /// Gives back what was released, soon: glibc keeps what its many threads released, to use it again.
  /// Elsewhere the allocator does it by itself.
  static func giveBack() {
    #if canImport(Glibc)
      let isFirst = isAsked.withLock { isAsked in
        defer { isAsked = true }
        return !isAsked
      }
      guard isFirst else { return }
      // What was released by the books is freed a moment later.
      queue.asyncAfter(deadline: .now() + .seconds(1)) {
        isAsked.withLock { $0 = false }
        _ = trim?(0)
      }
    #endif
  }

  #if canImport(Glibc)
    /// `malloc_trim`, which Swift's module of glibc leaves out.
    private static let trim: (@convention(c) (Int) -> Int32)? = {
      guard let symbol = dlsym(nil, "malloc_trim") else { return nil }
      return unsafeBitCast(symbol, to: (@convention(c) (Int) -> Int32).self)
    }()
  #endif
}
