import ConiferWire
import Testing

@Suite struct FrameTests {
  private func assemble(_ frames: [[UInt8]], limit: Int = 1 << 20) throws -> [[UInt8]] {
    var assembler = FrameAssembler(limit: limit)
    var messages: [[UInt8]] = []
    for frame in frames { if let message = try assembler.add(frame) { messages.append(message) } }
    #expect(!assembler.isWithinMessage)
    return messages
  }

  @Test func `A short message is one frame`() throws {
    #expect(Frames.split(Array("0".utf8)) == [Array("0".utf8)])
    let message = [UInt8](repeating: 0x61, count: Frames.size)
    #expect(Frames.split(message) == [message])
    #expect(try assemble([message]) == [message])
  }

  @Test func `A longer one is counted, and no piece ends within a character`() throws {
    for scalar in ["a", "é", "€", "𝄞"] {
      for lead in ["", "x"] {
        let text = lead + String(repeating: scalar, count: 50_000)
        let message = Array(text.utf8)
        let frames = Frames.split(message)
        let pieces = frames.dropFirst()
        #expect(frames.first == Array("\(pieces.count)".utf8))
        #expect(pieces.count == (text.utf16.count + Frames.size - 1) / Frames.size || scalar == "𝄞")
        for piece in pieces {
          let string = String(validating: piece, as: UTF8.self)
          #expect(string != nil)
          #expect((string?.utf16.count ?? .max) <= Frames.size)
        }
        #expect(try assemble(frames) == [message])
      }
    }
  }

  @Test func `A message of few characters and many bytes is one frame`() {
    let message = Array(String(repeating: "€", count: Frames.size).utf8)
    #expect(Frames.split(message) == [message])
  }

  @Test func `Messages follow one another, whole or in pieces`() throws {
    let frames = ["0", "{}", "2", "ab", "cd", "1", "x", "03", "a", "", "b", "1234567"]
    #expect(
      try assemble(frames.map { Array($0.utf8) })
        == ["0", "{}", "abcd", "x", "ab", "1234567"].map {
          Array($0.utf8)
        })
  }

  @Test func `Nothing above the limit is kept`() throws {
    var whole = FrameAssembler(limit: 10)
    #expect(try whole.add([UInt8](repeating: 0x61, count: 10)) != nil)
    #expect(throws: WireError.self) { try whole.add([UInt8](repeating: 0x61, count: 11)) }
    var pieces = FrameAssembler(limit: 10)
    #expect(try pieces.add(Array("3".utf8)) == nil)
    #expect(try pieces.add([UInt8](repeating: 0x61, count: 6)) == nil)
    let error = #expect(throws: WireError.self) {
      _ = try pieces.add([UInt8](repeating: 0x61, count: 5))
    }
    #expect(error?.code == .tooLarge)
    var count = FrameAssembler(limit: 10)
    #expect(throws: WireError.self) { try count.add(Array("999999".utf8)) }
  }
}
