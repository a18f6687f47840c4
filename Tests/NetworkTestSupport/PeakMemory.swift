#if Network
  import Foundation
  import Synchronization

  /// The most anonymous memory that this process was seen with.
  package final class PeakMemory: Sendable {
    private let most = Mutex<Int?>(nil)
    private let before = PeakMemory.now

    package init() {}

    /// Bytes in addition to those at the beginning; nil where the system does not tell.
    package var growth: Int? {
      guard let before, let most = most.withLock({ $0 }) else { return nil }
      return most - before
    }

    package func look() {
      let now = Self.now
      most.withLock { most in most = now.map { max($0, most ?? 0) } }
    }

    private static var now: Int? { anonymousMemory(of: "self") }

    /// The bytes of anonymous memory that a process has at this moment; nil where the system does not tell.
    static func anonymousMemory(of process: String) -> Int? {
      let lines = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      let line = lines?.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
      return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }
  }
#endif
