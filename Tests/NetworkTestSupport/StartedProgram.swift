#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A program that does nothing and has every file of this process that programs get; it ends with the value.
package final class StartedProgram: Sendable {
  package struct Failure: Error { package let code: Int32 }

  private let id: pid_t
  /// Its input ends with this process at the latest.
  private let input: Int32

  package init() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Failure(code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    input = ends[1]
    #if canImport(Darwin)
      var files: posix_spawn_file_actions_t?
    #else
      var files = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    posix_spawn_file_actions_adddup2(&files, ends[0], 0)
    var id: pid_t = 0
    let name = strdup("cat")
    defer { free(name) }
    let code = posix_spawn(&id, "/bin/cat", &files, nil, [name, nil], environ)
    self.id = id
    guard code == 0 else {
      close(input)
      throw Failure(code: code)
    }
  }

  deinit {
    close(input)
    kill(id, SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
  }
}
