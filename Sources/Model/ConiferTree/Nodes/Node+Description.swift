extension Node: CustomDebugStringConvertible {
  /// A short text for logs and failed tests; large data is cut off.
  public var debugDescription: String {
    var text = ""
    describe(into: &text)
    return text
  }

  private func describe(into text: inout String) {
    if text.utf8.count > 2000 {
      text += "…"
      return
    }
    if isEmpty { text += "null" }
    if let leaf { text += "\(leaf)" }
    if interior != nil {
      var separator = "{"
      for child in children {
        text += "\(separator)\(child.key): "
        child.node.describe(into: &text)
        separator = ", "
        if text.utf8.count > 2000 { break }
      }
      text += "}"
    }
    if let priority { text += "^\(priority.leaf)" }
  }
}
