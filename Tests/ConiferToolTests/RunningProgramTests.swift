import Foundation
import TestSupport
import Testing

/// What the tests start is alone, and ends.
struct RunningProgramTests {
  @Test func `A program has none of this process's files`() throws {
    let file = try #require(fopen("/dev/null", "r"))
    defer { fclose(file) }
    // The shell's own, which it needs to read the folder, is shown too.
    let program = try RunningProgram("/bin/sh", ["-c", "ls /dev/fd/"], output: .read)
    let files = try program.readToEnd().split(separator: "\n").compactMap { Int32($0) }
    #expect(program.waitForEnd() == .exited(0))
    #expect(Set(files).isSuperset(of: [0, 1, 2]) && files.count <= 4, "\(files)")
  }

  @Test func `What it prints is read, and what it is given arrives`() throws {
    let program = try RunningProgram("/bin/cat", takesInput: true, output: .read)
    try program.write("one\n".utf8)
    #expect(try program.read() == Array("one\n".utf8))
    #expect(program.end == nil)
    #expect(program.kill())
    #expect(throws: RunningProgram.Failure.self) {
      for _ in 0..<10_000 { try program.write("two\n".utf8) }
    }
    #expect(try program.readToEnd().isEmpty)
  }

  @Test func `One that does not end is ended, and one that is missing is told`() throws {
    let program = try RunningProgram(
      "/bin/sh", ["-c", "trap '' TERM; echo; read line"], takesInput: true, output: .read)
    _ = try program.read()
    program.signal(SIGTERM)
    #expect(program.waitForEnd(within: 0) == .killed(signal: SIGKILL))
    #expect(try RunningProgram("/bin/sh", ["-c", "exit 7"]).waitForEnd() == .exited(7))
    #expect(throws: RunningProgram.Failure.self) { try RunningProgram("/nowhere/at/all") }
  }
}
