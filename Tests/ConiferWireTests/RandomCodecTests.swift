import ConiferTree
import ConiferWire
import Testing

@Suite struct RandomCodecTests {
  private static let seeds: [UInt64] = [1, 2, 3, UInt64.random(in: .min ... .max)]

  @Test(arguments: seeds) func `Every message is read as it was written`(_ seed: UInt64) throws {
    var random = RandomMessages(seed: seed)
    for _ in 0..<500 {
      let client = random.clientMessage()
      let clientText = client.encoded()
      #expect(
        try ClientMessage(decoding: clientText) == client,
        "\(String(decoding: clientText, as: UTF8.self)) seed \(seed)")
      let server = random.serverMessage()
      let serverText = server.encoded()
      #expect(
        try ServerMessage(decoding: serverText) == server,
        "\(String(decoding: serverText, as: UTF8.self)) seed \(seed)")
    }
  }

  @Test(arguments: seeds) func `Damaged texts are messages or errors, and no traps`(
    _ seed: UInt64
  ) {
    var random = RandomMessages(seed: seed)
    var errors = 0
    var readable = 0
    let tokens = [
      "{", "}", "[", "]", ",", ":", "null", "1e999", "-", "\"", "\\u", "9", ".sv", "\"t\"",
    ]
    for _ in 0..<1000 {
      var text =
        random.below(2) == 0 ? random.clientMessage().encoded() : random.serverMessage().encoded()
      for _ in 0...random.below(4) {
        let place = random.below(text.count)
        switch random.below(5) {
        case 0 where !text.isEmpty: text[place] = UInt8(truncatingIfNeeded: random.bits())
        case 1: text.removeSubrange(place..<min(text.count, place + random.below(20)))
        case 2: text.insert(contentsOf: Array(random.pick(tokens).utf8), at: min(place, text.count))
        case 3: text = Array(text[..<min(place, text.count)])
        default:
          let end = min(text.count, place + random.below(30))
          text.insert(contentsOf: Array(text[min(place, end)..<end]), at: min(place, text.count))
        }
      }
      do { _ = try ClientMessage(decoding: text); readable += 1 } catch { errors += 1 }
      do { _ = try ServerMessage(decoding: text); readable += 1 } catch { errors += 1 }
      var assembler = FrameAssembler(limit: 1000)
      _ = assembler.add(text)
      _ = assembler.add(text)
      if String(validating: text, as: UTF8.self) != nil { #expect(!Frames.split(text).isEmpty) }
    }
    // Both must have happened, or the texts were damaged too much or not at all.
    #expect(errors > 100 && readable > 20, "\(errors) errors, \(readable) readable, seed \(seed)")
  }

  @Test(arguments: seeds) func `Frames come together to the message`(_ seed: UInt64) throws {
    var random = RandomMessages(seed: seed)
    var assembler = FrameAssembler(limit: 10 << 20)
    var many = 0
    for _ in 0..<20 {
      var text = ""
      let length = random.below(200_000)
      while text.utf8.count < length { text += random.text() + "{}" }
      let message = Array(text.utf8)
      // A text of nothing but a number is none of the protocol.
      guard message.count > 6 else { continue }
      let frames = Frames.split(message)
      if frames.count > 1 { many += 1 }
      for (index, frame) in frames.enumerated() {
        let whole = assembler.add(frame)?.text
        #expect((whole != nil) == (index == frames.count - 1))
        if let whole { #expect(whole == message) }
      }
    }
    #expect(many > 0, "No message took more than one frame, seed \(seed)")
  }
}
