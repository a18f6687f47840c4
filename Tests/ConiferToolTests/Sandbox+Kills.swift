import TestSupport
import Testing

@testable import ConiferTool

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension Sandbox {
  /// Runs the built tool and kills it as soon as a condition is seen to hold, if it has not ended before; how it ended.
  ///
  /// This thread looks all the time: a task that waits may be late by seconds.
  func kill(
    _ arguments: [String], when condition: () throws -> Bool
  ) throws -> ChildProcess.End {
    let tool = try #require(Repository.tool)
    let child = try ChildProcess(arguments, of: tool)
    while try !child.hasEnded && !condition() { usleep(500) }
    child.kill()
    return try child.wait()
  }

  /// Runs the built tool and kills it once the files of a directory were seen to change so many times.
  func kill(
    _ arguments: [String], after changes: Int, in name: String
  ) throws -> ChildProcess.End {
    let directory = path(name)
    var (seen, last) = (0, Self.stamps(directory))
    return try kill(arguments) {
      let now = Self.stamps(directory)
      if now != last { (seen, last) = (seen + 1, now) }
      return seen >= changes
    }
  }

  /// What tells that a directory or a file in it was written to.
  static func stamps(_ directory: String) -> [String] {
    ([directory] + Scratch.files(directory)).map { path in
      var info = stat()
      guard stat(path, &info) == 0 else { return path }
      #if canImport(Darwin)
        let time = info.st_mtimespec
      #else
        let time = info.st_mtim
      #endif
      return "\(path) \(info.st_size) \(time.tv_sec) \(time.tv_nsec)"
    }
  }
}
