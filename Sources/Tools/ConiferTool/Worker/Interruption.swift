import ConiferStorage
import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Kills processes and removes directories before this process ends by a signal that asks it to.
enum Interruption {
  private struct State {
    /// What is removed.
    var directories: Set<String> = []
    /// The processes that are killed before: they would make anew what they work on.
    var children: Set<Int32> = []
    /// The signals that are caught now: those that would end the process.
    var caught: [Int32] = []
  }

  private static let signals = [SIGINT, SIGTERM, SIGHUP]
  private static let state = Mutex(State())
  /// Whether there is a pipe, and somebody who waits at its end, for as long as the process runs.
  private static let isWatched = beginToWatch()

  /// Makes a directory that is removed when the process is interrupted, from the beginning.
  static func removing(
    _ make: () throws(Failure) -> String
  ) throws(Failure) -> String {
    guard isWatched else { return try make() }
    return try state.withLock { (state) throws(Failure) in
      if state.caught.isEmpty { state.caught = signals.filter(Self.catches) }
      let path = try make()
      state.directories.insert(path)
      return path
    }
  }

  /// Ends that.
  static func needNotRemove(_ path: String) {
    state.withLock { state in
      state.directories.remove(path)
      guard state.directories.isEmpty else { return }
      for number in state.caught { signal(number, SIG_DFL) }
      state.caught = []
    }
  }

  /// Starts a process that is killed when this one is interrupted, from the beginning.
  static func killing(
    _ start: () throws(Failure) -> ChildProcess
  ) throws(Failure) -> ChildProcess {
    try state.withLock { (state) throws(Failure) in
      let child = try start()
      state.children.insert(child.number)
      return child
    }
  }

  /// Ends that.
  static func needNotKill(_ child: ChildProcess) {
    let number = child.number
    state.withLock { _ = $0.children.remove(number) }
  }

  /// Catches a signal, unless it is ignored, as after `nohup`.
  private static func catches(_ number: Int32) -> Bool {
    let previous = signal(number) { number in
      // Nothing but writing is safe here.
      let error = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(pipeOfSignals, &byte, 1)
      errno = error
    }
    guard unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) else {
      return true
    }
    signal(number, SIG_IGN)
    return false
  }

  private static func beginToWatch() -> Bool {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    pipeOfSignals = ends[1]
    let source = ends[0]
    DispatchQueue(label: "conifer.interruption").async {
      var bytes: [UInt8] = []
      while (try? Platform.read(source, atMost: 1, into: &bytes)) == true, let number = bytes.last {
        // Until the end, so that nothing is started or made any more.
        state.withLock { state in
          for child in state.children { ChildProcess.killAndWait(child) }
          for path in state.directories {
            // Under another name first, so that nothing can be made in it any more.
            let gone = path + ".gone"
            if rename(path, gone) == 0 { Directory.remove(gone) }
          }
          // The process ends as it would have without us.
          Platform.end(by: Int32(number))
        }
      }
    }
    return true
  }
}

/// Where a caught signal's number is written to; set before the first is caught.
nonisolated(unsafe) private var pipeOfSignals: Int32 = -1
