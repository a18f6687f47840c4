#if Network && os(Linux)
  import Synchronization
  import TestSupport

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// An address of the loopback that tests add and remove (rtnetlink(7)).
  package enum LoopbackAddress {
    private struct Failure: Error { let text: String }

    /// Whether this process may add and remove it.
    package static let canChange: Bool = {
      // A run that was killed may have left it.
      _ = try? change(100, isNew: false)
      return (try? change(100, isNew: true) && change(100, isNew: false)) ?? false
    }()

    private static let isTaken = Atomic(false)

    /// Does what changes addresses while nobody else in this process does so: the whole process hears of each change.
    package static func alone(_ body: () async throws -> Void) async throws {
      try await eventually("others no longer change addresses") {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
      }
      defer { isTaken.store(false, ordering: .releasing) }
      try await body()
    }

    /// Adds it and removes it again, once, and anew after each second in which that has had no effect.
    ///
    /// Clients on the system's network that other tests have hear of it too.
    package static func change(
      _ number: UInt8, until what: String, _ hasEffect: () -> Bool
    ) async throws {
      var last: ContinuousClock.Instant?
      try await eventually(what) {
        if hasEffect() { return true }
        if let last, .now - last < .seconds(1) { return false }
        last = .now
        _ = try change(number, isNew: true)
        _ = try change(number, isNew: false)
        return false
      }
    }

    /// Adds or removes it; false when this process may not.
    ///
    /// - Parameter number: each test has one of its own.
    package static func change(_ number: UInt8, isNew: Bool) throws -> Bool {
      let file = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue), 0)
      guard file >= 0 else { return false }
      defer { close(file) }
      // Length, kind, flags (request, acknowledge, create), number, sender; family, prefix, flags,
      // scope, interface 1; the attribute of the local address.
      let (kind, flags): (UInt8, [UInt8]) = isNew ? (20, [5, 4]) : (21, [5, 0])
      var request: [UInt8] = [32, 0, 0, 0, kind, 0] + flags + [1, 0, 0, 0, 0, 0, 0, 0]
      request += [UInt8(AF_INET), 32, 0, 0, 1, 0, 0, 0, 8, 0, 2, 0, 127, 77, 0, number]
      guard send(file, request, request.count, 0) == request.count else { return false }
      var answer = [UInt8](repeating: 0, count: 1024)
      guard recv(file, &answer, answer.count, 0) >= 20 else { throw Failure(text: "no answer") }
      let status = answer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: Int32.self) }
      return status == 0
    }
  }
#endif
