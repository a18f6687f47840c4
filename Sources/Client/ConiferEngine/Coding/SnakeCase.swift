/// Names in snake case and in camel case.
package enum SnakeCase {
  /// `roomName` as `room_name`, `myURLPath` as `my_url_path`.
  package static func from(_ camel: String) -> String {
    let letters = Array(camel)
    var snake = ""
    for (index, letter) in letters.enumerated() {
      if letter.isUppercase, index > 0, letters[index - 1] != "_" {
        let followsLower = !letters[index - 1].isUppercase
        let beginsWord = index + 1 < letters.count && letters[index + 1].isLowercase
        if followsLower || beginsWord { snake += "_" }
      }
      snake += letter.lowercased()
    }
    return snake
  }

  /// `room_name` as `roomName`; underscores around it stay.
  package static func toCamel(_ snake: String) -> String {
    let head = snake.prefix { $0 == "_" }
    guard head.count < snake.count else { return snake }
    let tail = String(snake.reversed().prefix { $0 == "_" })
    let words = snake.dropFirst(head.count).dropLast(tail.count).split(separator: "_")
    guard let first = words.first, words.count > 1 else { return snake }
    let rest = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
    return head + first.lowercased() + rest.joined() + tail
  }
}
