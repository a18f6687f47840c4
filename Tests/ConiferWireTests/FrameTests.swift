import ConiferWire
import Testing

@Suite struct FrameTests {
  private func assemble(_ frames: [[UInt8]], limit: Int = 1 << 20) throws -> [[UInt8]] {
    var assembler = FrameAssembler(limit: limit)
    var messages: [[UInt8]] = []
    for frame in frames { if let message = assembler.add(frame)?.text { messages.append(message) } }
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

  @Test func `Nothing above the limit is kept`() {
    var whole = FrameAssembler(limit: 10)
    #expect(whole.add([UInt8](repeating: 0x61, count: 10)) != nil)
    #expect(whole.add([UInt8](repeating: 0x61, count: 11)) == .tooLarge(request: nil))
    var pieces = FrameAssembler(limit: 10)
    #expect(pieces.add(Array("3".utf8)) == nil)
    #expect(pieces.add([UInt8](repeating: 0x61, count: 6)) == nil)
    #expect(pieces.discardedBytes == nil && pieces.heldBytes >= 6)
    #expect(pieces.add([UInt8](repeating: 0x61, count: 5)) == nil)
    #expect(pieces.discardedBytes == 11 && pieces.heldBytes == 0 && pieces.isWithinMessage)
    #expect(pieces.add([0x61]) == .tooLarge(request: nil))
    #expect(!pieces.isWithinMessage)
    #expect(pieces.add(Array("{}".utf8)) == .text(Array("{}".utf8)))
    var count = FrameAssembler(limit: 10)
    #expect(count.add(Array("999999".utf8)) == nil)
    #expect(count.discardedBytes == 0)
  }

  /// Texts that are too large, and the number that each has.
  static let large: [(text: String, number: UInt64?)] = {
    let long = String(repeating: #"x\"{[,:"#, count: 20)
    let tree = #"{"r":5,"d":{"r":6,"a":[{"r":7}]},"\"r":8,"t":"r"}"#
    return [
      (#"{"t":"d","d":{"r":12,"a":"p","b":{"p":"/a","d":"\#(long)"}}}"#, 12),
      (#"{"d":{"b":{"p":"/a","d":"\#(long)"},"a":"p","r":12},"t":"d"}"#, 12),
      (#"{ "t" : "d" , "d" : { "a":"p","b":{"d":\#(tree),"p":"r"},"r" : 12 }}"#, 12),
      (#"{"r":3,"t":"d","d":{"b":{"d":\#(tree),"p":"\#(long)"},"a":"p"}}"#, nil),
      (#"{"t":"d","d":{"b":{"d":"\#(long)","r":3},"r":18446744073709551615}}"#, .max),
      (#"{"t":"d","d":{"b":{"d":"\#(long)","r":3},"r":18446744073709551616}}"#, nil),
      (#"{"t":"d","d":{"b":{"d":"\#(long)","r":3},"r":-1}}"#, nil),
      (#"{"t":"d","d":{"b":{"d":"\#(long)","r":3},"r":1.5}}"#, nil),
      (#"{"t":"d","d":[{"r":3},"\#(long)"],"e":{"r":4}}"#, nil),
      (#"{"t":"d","d":{"rr":4,"\#(long)":"r","d":{"r":5}}}"#, nil),
      (#"{"t":"d","d":{"d":{"d":{}},"\#(long)":"d","r":9}}"#, 9),
      (String(repeating: "]", count: 200), nil), (long, nil),
    ]
  }()

  @Test(arguments: large.indices)
  func `Of a message that is too large its request's number is read`(_ index: Int) throws {
    let (text, number) = Self.large[index]
    let bytes = Array(text.utf8)
    try #require(bytes.count > 40)
    for size in [1, 2, 7, bytes.count] {
      let parts = stride(from: 0, to: bytes.count, by: size).map {
        Array(bytes[$0..<min($0 + size, bytes.count)])
      }
      var assembler = FrameAssembler(limit: 40)
      for part in parts { assembler.append(part) }
      #expect(assembler.endFrame() == .tooLarge(request: number), "\(text) by \(size)")
      #expect(assembler.add(Array("\(parts.count)".utf8)) == nil)
      for (index, part) in parts.enumerated() {
        let isLast = index == parts.count - 1
        #expect(assembler.add(part) == (isLast ? .tooLarge(request: number) : nil))
      }
      #expect(assembler.add(Array("{}".utf8)) == .text(Array("{}".utf8)))
    }
  }
}
